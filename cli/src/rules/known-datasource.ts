import { Failure, invalidInput } from '@svc/domain/failure'
import { defaultRulesName } from '@svc/domain/rules'
import { similarNamesText } from '@svc/domain/validation'
import type { ClusterClient } from '../client/index.ts'
import { rulesPath } from './set-rules.ts'

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
  // Unlike the lists, which leave out what the user may not read, this throws forbidden.
  const own = (await client.send('GET', rulesPath(name))) as readonly unknown[]
  if (own.length > 0) return
  const known = await knownDatasources(client)
  if (!known.has(name)) throw invalidInput(`${unknownDatasource(name, known)}${advice && ` ${advice}`}`)
}

/** Returns the datasources that have segments or rules. */
export async function knownDatasources(client: ClusterClient): Promise<ReadonlySet<string>> {
  const [withSegments, withRules] = await Promise.all([
    client.send('GET', '/svc/coordinator/v1/metadata/datasources?includeUnused'),
    client.send('GET', '/svc/coordinator/v1/rules').catch(nothingIfForbidden),
  ])
  const known = new Set([...(withSegments as string[]), ...Object.keys(withRules as object)])
  known.delete(defaultRulesName)
  return known
}

/** Rules of other datasources only add similar names; users with access to a few datasources may not list them. */
function nothingIfForbidden(error: unknown): object {
  if (error instanceof Failure && error.code === 'forbidden') return {}
  throw error
}

/** What is wrong with a datasource that is not one of `known`, with similar names. */
export function unknownDatasource(name: string, known: ReadonlySet<string>): string {
  const similar = similarNamesText(name, known)
  const hint =
    known.size === 0 ? ' The cluster has no datasources that you can read.' : similar && ` ${similar}.`
  return `Unknown datasource [${name}]: it has neither segments nor rules.${hint}`
}
