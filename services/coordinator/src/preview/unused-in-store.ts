import type { PreviewRequest } from '@svc/domain/preview'
import {
  type Database,
  type DroppedGroup,
  type KilledGroup,
  loadDroppedGroups,
  loadKilledGroups,
  type RuleChanges,
} from '@svc/shared/postgres'

/** What drop rules marked as unused, by datasource. */
export interface UnusedInStore {
  readonly unused: ReadonlyMap<string, readonly DroppedGroup[]>
  /** What kill tasks have deleted of it. */
  readonly killed: ReadonlyMap<string, readonly KilledGroup[]>
}

/**
 * Returns what drop rules marked as unused since the change that a request names, or since the first. `dataSources` are
 * those that the request changes; undefined for all.
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
  const [unused, killed] = await Promise.all([
    loadDroppedGroups(database, changes, dataSources),
    loadKilledGroups(database, changes, dataSources),
  ])
  const byDatasource = <Group extends { readonly dataSource: string }>(groups: readonly Group[]) =>
    Map.groupBy(groups, ({ dataSource }) => dataSource)
  return { unused: byDatasource(unused), killed: byDatasource(killed) }
}
