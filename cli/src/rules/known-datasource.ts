import { invalidInput } from '@svc/domain/failure'
import { defaultRulesName } from '@svc/domain/rules'
import { nearNames } from '@svc/domain/validation'
import type { ClusterClient } from '../client/index.ts'

/**
 * Throws invalidInput, with similar names and `advice`, if a cluster has neither segments nor rules of a datasource, so that
 * a typo does not go unnoticed.
 */
export async function checkDatasourceIsKnown(
  client: ClusterClient,
  name: string,
  advice = '',
): Promise<void> {
  if (name === defaultRulesName) return
  const known = await knownDatasources(client)
  if (!known.has(name)) throw invalidInput(`${unknownDatasource(name, known)}${advice && ` ${advice}`}`)
}

/** Returns the datasources that have segments or rules. */
export async function knownDatasources(client: ClusterClient): Promise<ReadonlySet<string>> {
  const [withSegments, withRules] = await Promise.all([
    client.send('GET', '/svc/coordinator/v1/metadata/datasources?includeUnused'),
    client.send('GET', '/svc/coordinator/v1/rules'),
  ])
  const known = new Set([...(withSegments as string[]), ...Object.keys(withRules as object)])
  known.delete(defaultRulesName)
  return known
}

/** What is wrong with a datasource that is not one of `known`, with similar names. */
export function unknownDatasource(name: string, known: ReadonlySet<string>): string {
  const near = nearNames(name, known)
  const similar =
    near.length === 0 ? 'The cluster has no datasources.' : `Similar names: [${near.join('], [')}].`
  return `Unknown datasource [${name}]: it has neither segments nor rules. ${similar}`
}
