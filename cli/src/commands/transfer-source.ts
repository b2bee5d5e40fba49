import { X509Certificate } from 'node:crypto'
import { statSync } from 'node:fs'
import { invalidInput } from '@svc/domain/failure'
import type { Command } from 'commander'
import { accessToCluster, readInputText } from '../client/index.ts'
import type { HomeLayout } from '../home/index.ts'
import { openFolder, openHttp, type SnapshotSource, withoutLogin } from '../transfer/index.ts'

/** How to read another cluster, and as which user. */
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
    .option('--user <name>', 'User name (or name:password) for the source cluster')
    .option('--password-file <file>', 'File with the password (- reads standard input)')
    .option('--trust <file>', 'PEM file of CA certificates to trust for the source cluster')
    .option('--skip-bad', 'Skip unreadable parts and report them, instead of failing')
    .option('--problems <file>', 'File to write unreadable parts to, one per line')
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
      `Invalid value [${withoutLogin(from)}] for [--from]: expected an http or https URL, or a folder`,
    )
  }
  // A query or fragment may be a secret, and is never needed.
  const [address = ''] = from.split(/[?#]/, 1)
  if (isHttp && address !== from) {
    throw invalidInput(
      `Invalid value [${withoutLogin(address)}…] for [--from]: expected a URL without a query, such as https://cluster.example:9088`,
    )
  }
  const { trust } = options
  const trusted = trust === undefined ? undefined : readCertificates(trust)
  if (!isHttp) return openFolder(from)
  return await openHttp({ url: from, credentials: credentialsOf(options), trusted, signal })
}

const certificate = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** The certificates of a PEM file. A file without any is refused here: otherwise every call would fail for another reason. */
function readCertificates(file: string): string {
  const refuse = (found: string) =>
    invalidInput(`Invalid value [${file}] for [--trust]: expected a PEM file of certificates, but ${found}`)
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory()) throw refuse('it is a folder')
  const text = readInputText(file, 'certificates')
  const blocks = text.match(certificate) ?? []
  if (blocks.length === 0)
    throw refuse(/PRIVATE KEY/.test(text) ? 'it contains a private key' : 'it contains no certificate')
  for (const [index, block] of blocks.entries()) {
    try {
      new X509Certificate(block)
    } catch {
      throw refuse(`certificate [${index + 1}] is unreadable`)
    }
  }
  return blocks.join('\n')
}

function credentialsOf({ user, passwordFile }: SourceOptions): string | undefined {
  if (passwordFile === undefined) {
    if (user !== undefined && !/^[^:]+:./.test(user))
      throw invalidInput('Option --user has no password: add --password-file, or use name:password')
    return user
  }
  if (user === undefined || user.includes(':'))
    throw invalidInput('Option --password-file requires --user with a name and no password')
  return `${user}:${readInputText(passwordFile, 'password').replace(/\r?\n$/, '')}`
}
