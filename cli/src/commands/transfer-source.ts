import { X509Certificate } from 'node:crypto'
import { statSync } from 'node:fs'
import { invalidInput } from '@svc/domain/failure'
import type { Command } from 'commander'
import { accessToCluster, readInputText } from '../client/index.ts'
import type { HomeLayout } from '../home/index.ts'
import { openFolder, openHttp, type SnapshotSource, withoutLogin } from '../transfer/index.ts'

/** Who reads another cluster, and how. */
export interface SourceOptions {
  readonly user?: string
  readonly passwordFile?: string
  readonly trust?: string
  readonly skipBad?: boolean
  readonly problems?: string
}

/** Adds the options of `openSource`. */
export function withSource(command: Command): Command {
  return command
    .option('--user <name>', 'who reads it there; with name:password no file is needed')
    .option('--password-file <file>', 'the file that holds their password; - reads standard input')
    .option('--trust <file>', 'PEM file of certificates to trust there')
    .option('--skip-bad', 'leave out what cannot be read, and tell it, instead of making nothing')
    .option('--problems <file>', 'a file that gets each part that cannot be read, one a line')
}

/** The cluster of a home, a cluster at an address, or a folder. */
export async function openSource(
  from: HomeLayout | string,
  options: SourceOptions,
  signal: AbortSignal,
): Promise<SnapshotSource> {
  if (typeof from !== 'string') {
    const { routerUrl, trusted, credentials } = accessToCluster(from)
    return await openHttp({ url: routerUrl, trusted, credentials, signal })
  }
  const [scheme] = /^[a-z][a-z\d+.-]*(?=:\/\/)/i.exec(from) ?? []
  const isHttp = /^https?:/i.test(from)
  if (scheme !== undefined && !isHttp) {
    throw invalidInput(
      `Option --from has value [${withoutLogin(from)}], allowed are a URL with http or https, and a folder`,
    )
  }
  // What stands behind the address may be a secret, and is never needed.
  const [address = ''] = from.split(/[?#]/, 1)
  if (isHttp && address !== from) {
    throw invalidInput(
      `Option --from has value [${withoutLogin(address)}…], allowed is a URL without a query, such as https://cluster.example:9088`,
    )
  }
  const { trust } = options
  const trusted = trust === undefined ? undefined : readCertificates(trust)
  if (!isHttp) return openFolder(from)
  return await openHttp({ url: from, credentials: credentialsOf(options), trusted, signal })
}

const certificate = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** The certificates of a PEM file; without any, everything that is called would be refused for another reason. */
function readCertificates(file: string): string {
  const refuse = (found: string) =>
    invalidInput(`Option --trust has value [${file}], allowed is a PEM file of certificates: ${found}`)
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory()) throw refuse('it is a folder')
  const text = readInputText(file, 'certificates')
  const blocks = text.match(certificate) ?? []
  if (blocks.length === 0)
    throw refuse(/PRIVATE KEY/.test(text) ? 'it holds a private key' : 'no certificate is in it')
  for (const [index, block] of blocks.entries()) {
    try {
      new X509Certificate(block)
    } catch {
      throw refuse(`certificate [${index + 1}] in it cannot be read`)
    }
  }
  return blocks.join('\n')
}

function credentialsOf({ user, passwordFile }: SourceOptions): string | undefined {
  if (passwordFile === undefined) {
    if (user !== undefined && !/^[^:]+:./.test(user))
      throw invalidInput('Option --user has no password: give --password-file, or name:password')
    return user
  }
  if (user === undefined || user.includes(':'))
    throw invalidInput('Option --password-file needs --user with a name and no password')
  return `${user}:${readInputText(passwordFile, 'password').replace(/\r?\n$/, '')}`
}
