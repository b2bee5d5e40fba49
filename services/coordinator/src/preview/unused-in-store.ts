import type { PreviewRequest } from '@svc/domain/preview'
import {
  type Database,
  type KilledGroup,
  loadKilledGroups,
  loadUnusedGroups,
  type RuleChanges,
  type UnusedGroup,
} from '@svc/shared/postgres'

/** What drop rules and requests marked as unused, by datasource. */
export interface UnusedInStore {
  /** What drop rules marked. */
  readonly unused: ReadonlyMap<string, readonly UnusedGroup[]>
  /** What kill tasks have deleted of it. */
  readonly killed: ReadonlyMap<string, readonly KilledGroup[]>
  /** What requests marked. */
  readonly requested: ReadonlyMap<string, readonly UnusedGroup[]>
}

/**
 * Returns what drop rules marked as unused since the change that a request names, or since the first, and what requests
 * marked. `dataSources` are those that the request changes; undefined for all.
 */
export async function loadUnusedInStore(
  database: Database,
  { markUsedSince = 0, defaultRules }: PreviewRequest,
  dataSources: readonly string[] | undefined,
): Promise<UnusedInStore> {
  const changes: RuleChanges = {
    of: defaultRules === undefined ? 'rules' : 'defaultRules',
    since: markUsedSince,
  }
  const [groups, killed] = await Promise.all([
    loadUnusedGroups(database, changes, dataSources),
    loadKilledGroups(database, changes, dataSources),
  ])
  const byDatasource = <Group extends { readonly dataSource: string }>(list: readonly Group[]) =>
    Map.groupBy(list, ({ dataSource }) => dataSource)
  const [unused, requested] = (['dropRule', 'request'] as const).map((one) =>
    byDatasource(groups.filter(({ cause }) => cause === one)),
  )
  return { unused: unused!, killed: byDatasource(killed), requested: requested! }
}
