import { existsSync } from 'node:fs'
import path from 'node:path'
import { invalidInput } from '@svc/domain/failure'

/** Where files and hosts of a configuration are on this machine or network. */
export interface LocationMap {
  /** Returns the file on this machine for a path in the configuration. */
  fileOf(written: string): string
  /** Returns `host:port` as seen from here. */
  addressOf(host: string, port: number): { readonly host: string; readonly port: number }
}

/**
 * Reads `from=to` entries: `/opt/druid=/srv/druid` maps paths below a folder, `ldap.example.com:389=127.0.0.1:1389` maps an
 * address. Relative paths refer to the configuration folder, or to the first folder above it that has such a file: Druid
 * resolves them in its installation folder.
 */
export function readLocationMap(entries: readonly string[], folder: string): LocationMap {
  const pairs = entries.map((entry) => {
    const equals = entry.indexOf('=')
    if (equals < 1 || equals === entry.length - 1)
      throw invalidInput(
        `Invalid value [${entry}] for [--map]: expected from=to, such as /opt/druid=./druid or ldap.example.com:389=127.0.0.1:1389`,
      )
    return { from: entry.slice(0, equals).replace(/(?<=.)\/$/, ''), to: entry.slice(equals + 1) }
  })
  return {
    fileOf: (written) => {
      const pair = pairs.find(({ from }) => written === from || written.startsWith(`${from}/`))
      if (pair) return path.resolve(pair.to) + written.slice(pair.from.length)
      return path.isAbsolute(written) ? written : findRelative(written, folder)
    },
    addressOf: (host, port) => {
      const pair = pairs.find(({ from }) => from === `${host}:${port}`)
      if (!pair) return { host, port }
      const colon = pair.to.lastIndexOf(':')
      const mappedPort = Number(pair.to.slice(colon + 1))
      if (colon < 1 || !Number.isInteger(mappedPort))
        throw invalidInput(`Invalid value [${pair.to}] for [--map]: expected host:port`)
      return { host: pair.to.slice(0, colon), port: mappedPort }
    },
  }
}

function findRelative(written: string, folder: string): string {
  const nearest = path.resolve(folder, written)
  for (let above = path.resolve(folder); ; above = path.dirname(above)) {
    const candidate = path.resolve(above, written)
    if (existsSync(candidate)) return candidate
    if (above === path.dirname(above)) return nearest
  }
}
