import { invalidInput } from '@svc/domain/failure'
import type { Command } from 'commander'
import { accessToCluster, withoutLogin } from '../client/index.ts'
import type { HomeLayout } from '../home/index.ts'
import type { SnapshotSource } from '../snapshot/index.ts'
import { credentialsOf, type LoginOptions, trustedOf, withLogin } from './login-options.ts'

/** How to read another cluster, and as which user. */
export interface SourceOptions extends LoginOptions {
  readonly skipBad?: boolean
  readonly problems?: string
}

/** Adds the options of `openSource`. */
export function withSource(command: Command): Command {
  return withLogin(command)
    .option('--skip-bad', 'Skip unreadable parts and report them, instead of failing')
    .option('--problems <file>', 'File to write unreadable parts to, one per line')
}

/** The cluster of a home, a cluster at an address, or a folder. */
export async function openSource(
  from: HomeLayout | string,
  options: SourceOptions,
  signal: AbortSignal,
): Promise<SnapshotSource> {
  const { openFolder, openHttp } = await import('../snapshot/index.ts')
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
  const trusted = trustedOf(options)
  if (!isHttp) return openFolder(from)
  return await openHttp({ url: from, credentials: credentialsOf(options), trusted, signal })
}
