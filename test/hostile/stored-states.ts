import { sql } from '@svc/shared/postgres'
import type { TestCluster } from '../support/test-cluster.ts'
import { attackedDataSource } from './shaped-bodies.ts'

/** What a user with permission on one datasource may store, close to the limits. */
export const storedStates = [
  'one rule with many tiers',
  'many rules with two tiers each',
  'a large compaction configuration',
  'many tasks',
  'long histories',
] as const
export type StoredState = (typeof storedStates)[number]

const rulesPath = `/svc/coordinator/v1/rules/${attackedDataSource}`
const compactionPath = '/svc/coordinator/v1/config/compaction'
const tierCount = 19_000
const taskCount = 12_000
const entryCount = 10
const entryBytes = 1_000_000

const tier = (index: number): string => `"tier${index}":1`
const listOf = (count: number, item: (index: number) => string): string =>
  `[${Array.from({ length: count }, (_, index) => item(index)).join()}]`

const rulesOf: Readonly<Partial<Record<StoredState, () => string>>> = {
  'one rule with many tiers': () =>
    `[{"type":"loadForever","tieredReplicants":{${Array.from({ length: tierCount }, (_, index) => tier(index)).join()}}}]`,
  'many rules with two tiers each': () =>
    listOf(
      tierCount / 2,
      (index) =>
        `{"type":"loadByPeriod","period":"P${index + 1}D","tieredReplicants":{${tier(2 * index)},${tier(2 * index + 1)}}}`,
    ),
}

/** Stores something large in the attacked datasource. */
export async function storeLarge(cluster: TestCluster, stored: StoredState): Promise<void> {
  const coordinator = cluster.at('coordinator')
  const rules = rulesOf[stored]
  if (rules !== undefined) await coordinator.post(rulesPath, JSON.parse(rules()))
  if (stored === 'a large compaction configuration')
    await coordinator.post(compactionPath, {
      dataSource: attackedDataSource,
      tuningConfig: { partitionsSpec: { type: 'dynamic' } },
      taskContext: { long: 'x'.repeat(1024 * 1024 - 500) },
    })
  if (stored === 'many tasks')
    await cluster.store.query(sql`
      INSERT INTO tasks (id, group_id, type, datasource, priority, payload, created_at, submitted_by, state, error_message,
        started_at, finished_at, duration_ms)
      SELECT 'hostile_' || number, 'hostile', 'index_parallel', ${attackedDataSource}, 50, '{}', now(), 'one', 'FAILED',
        repeat('x', 200), now(), now(), 1000
      FROM generate_series(1, ${taskCount}::int) AS number`)
  if (stored === 'long histories') await storeHistories(cluster)
}

/** Stores changes of the largest values, without the time that it would take to make them. */
async function storeHistories({ store }: TestCluster): Promise<void> {
  const lists = (item: string) => `[${`${item},`.repeat(entryBytes / (item.length + 1))}${item}]`
  const rules = lists('{"type":"dropForever"}')
  const config = `{"dataSource":"${attackedDataSource}","taskContext":{"x":${lists('[]')}}}`
  // Supervisors read the newest version, which is a terminated one.
  const spec = `{"type":"noop","dataSources":["${attackedDataSource}"],"x":${lists('[]')}}`
  const changes = sql`FROM generate_series(1, ${entryCount}::int)`
  await store.query(sql`
    INSERT INTO audit (type, key, author, comment, identity, ip, payload, replaced, created_at)
    SELECT type, key, '', '', 'one', '', ${rules}, ${rules}, now() ${changes},
      (VALUES ('rules', ${attackedDataSource}), ('coordinator.config', 'coordinator.config')) AS kind (type, key)`)
  await store.query(sql`
    INSERT INTO compaction_history
      (datasource, of_supervisor, global_config, config, author, comment, identity, ip, created_at)
    SELECT ${attackedDataSource}, of_supervisor, '{}', ${config}, '', '', 'one', '', now() ${changes},
      (VALUES (true), (false)) AS kind (of_supervisor)`)
  await store.query(sql`
    INSERT INTO supervisors (id, datasource, spec, created_at)
    SELECT ${`autocompact__${attackedDataSource}`}, ${attackedDataSource}, ${spec}, now() ${changes}`)
}

/** Removes what storeLarge and hostile requests have stored, so that the order of the requests does not matter. */
export async function removeStored(cluster: TestCluster): Promise<void> {
  const coordinator = cluster.at('coordinator')
  await coordinator.post(rulesPath, [])
  await coordinator.send({ method: 'DELETE', path: `${compactionPath}/${attackedDataSource}` })
  await cluster.store.query(sql`DELETE FROM tasks WHERE group_id = 'hostile'`)
  await cluster.store.query(sql`DELETE FROM audit WHERE type NOT LIKE 'security%'`)
  await cluster.store.query(sql`DELETE FROM compaction_history`)
  await cluster.store.query(
    sql`DELETE FROM supervisors WHERE version NOT IN (SELECT max(version) FROM supervisors GROUP BY id)`,
  )
}
