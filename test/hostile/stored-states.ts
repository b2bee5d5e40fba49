import { sql } from '@svc/shared/postgres'
import type { TestCluster } from '../support/test-cluster.ts'
import { attackedDataSource } from './shaped-bodies.ts'

/** What a user with permission on one datasource may store, close to the limits. */
export const storedStates = [
  'one rule with many tiers',
  'many rules with two tiers each',
  'a large compaction configuration',
  'many tasks',
] as const
export type StoredState = (typeof storedStates)[number]

const rulesPath = `/svc/coordinator/v1/rules/${attackedDataSource}`
const compactionPath = '/svc/coordinator/v1/config/compaction'
const tierCount = 19_000
const taskCount = 12_000

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
}

/** Removes what storeLarge and hostile requests have stored. */
export async function removeStored(cluster: TestCluster): Promise<void> {
  const coordinator = cluster.at('coordinator')
  await coordinator.post(rulesPath, [])
  await coordinator.send({ method: 'DELETE', path: `${compactionPath}/${attackedDataSource}` })
  await cluster.store.query(sql`DELETE FROM tasks WHERE group_id = 'hostile'`)
}
