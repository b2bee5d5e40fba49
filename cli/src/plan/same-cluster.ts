import { invalidInput } from '@svc/domain/failure'
import type { ClusterClient } from '../client/index.ts'
import type { Plan } from '../declared-state/index.ts'

const loopbackNames: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Throws invalidInput if a plan is for another cluster. Clusters have no IDs, neither in svc nor in Druid, so the URL identifies the cluster. */
export function assertSameCluster(
  { id, cluster }: Pick<Plan, 'id' | 'cluster'>,
  { routerUrl }: Pick<ClusterClient, 'routerUrl'>,
): void {
  if (normalizedUrl(cluster) !== normalizedUrl(routerUrl))
    throw invalidInput(`Plan [${id}] is for [${cluster}], not for [${routerUrl}]`)
}

/** A URL that is the same for all names of this machine, and with or without the default port and a slash at the end. */
function normalizedUrl(text: string): string {
  if (!URL.canParse(text)) return text
  const url = new URL(text)
  if (loopbackNames.has(url.hostname)) url.hostname = 'localhost'
  return url.href.replace(/\/$/, '')
}
