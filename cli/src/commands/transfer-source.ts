import { invalidInput } from '@svc/domain/failure'
import type { Command } from 'commander'
import { accessToCluster, readInputText } from '../client/index.ts'
import type { HomeLayout } from '../home/index.ts'
import { openFolder, openHttp, type SnapshotSource } from '../transfer/index.ts'

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
  if (!/^https?:/.test(from)) return openFolder(from)
  const { trust } = options
  return await openHttp({
    url: from,
    credentials: credentialsOf(options),
    trusted: trust && readInputText(trust, 'certificates'),
    signal,
  })
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
