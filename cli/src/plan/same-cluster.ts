import { Failure, invalidInput } from '@svc/domain/failure'
import type { ClusterClient } from '../client/index.ts'
import type { Plan } from '../declared-state/index.ts'

const loopbackNames: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

/**
 * Throws invalidInput if a plan is for another cluster: at another URL, or with another ID. The ID distinguishes clusters that
 * have the same URL, such as that of a tunnel, and the URL distinguishes a cluster from one that was restored from its backup.
 */
export async function assertSameCluster(
  { id, cluster, clusterId }: Pick<Plan, 'id' | 'cluster' | 'clusterId'>,
  client: Pick<ClusterClient, 'routerUrl' | 'interfaceName' | 'send'>,
): Promise<void> {
  const { routerUrl } = client
  if (normalizedUrl(cluster) !== normalizedUrl(routerUrl))
    throw invalidInput(`Plan [${id}] is for [${cluster}], not for [${routerUrl}]`)
  if (clusterId === undefined) return
  const present = await clusterIdOf(client)
  if (present !== undefined && present !== clusterId)
    throw invalidInput(
      `Plan [${id}] is for cluster [${clusterId}], but the cluster at [${routerUrl}] is [${present}]`,
    )
}

/** Returns the ID of a cluster; undefined if it has none, as in Druid and in earlier versions. */
export async function clusterIdOf(
  client: Pick<ClusterClient, 'interfaceName' | 'send'>,
): Promise<string | undefined> {
  if (client.interfaceName === 'druid') return undefined
  try {
    const { id } = (await client.send('GET', '/svc/coordinator/v1/clusterId')) as { readonly id: string }
    return id
  } catch (error) {
    if (error instanceof Failure && error.code === 'notFound') return undefined
    throw error
  }
}

/** A URL that is the same for all names of this machine, and with or without the default port and a slash at the end. */
function normalizedUrl(text: string): string {
  if (!URL.canParse(text)) return text
  const url = new URL(text)
  if (loopbackNames.has(url.hostname)) url.hostname = 'localhost'
  return url.href.replace(/\/$/, '')
}
