import { readFileSync } from 'node:fs'
import { invalidInput } from '@svc/domain/failure'
import { accessToCluster } from '../client/index.ts'
import type { HomeLayout } from '../home/index.ts'
import { openFolder, openHttp, type SnapshotSource } from '../transfer/index.ts'

/** The cluster of a home, a cluster at an address, or a folder. */
export async function openSource(
  from: HomeLayout | string,
  { user, trust }: { readonly user?: string | undefined; readonly trust?: string | undefined } = {},
): Promise<SnapshotSource> {
  if (typeof from !== 'string') {
    const { routerUrl, trusted, credentials } = accessToCluster(from)
    return await openHttp({ url: routerUrl, trusted, credentials })
  }
  if (user !== undefined && !/^[^:]+:./.test(user)) {
    throw invalidInput('Option --user has no password, allowed is name:password')
  }
  if (!/^https?:/.test(from)) return openFolder(from)
  return await openHttp({ url: from, credentials: user, trusted: trust && readFileSync(trust, 'utf8') })
}
