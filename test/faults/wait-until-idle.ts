import { existsSync } from 'node:fs'
import path from 'node:path'
import { shownTaskId, sql } from '@svc/shared/postgres'
import { waitUntil } from '@svc/shared/testing'
import { checksumOf, servedBy } from '../support/segments.ts'
import { sqlRows } from '../support/sql.ts'
import type { TestCluster } from '../support/test-cluster.ts'
import { wrongCopies } from './check/index.ts'
import type { Rest, SeenAudit } from './history.ts'
import { loadSegments } from './observe.ts'
import { countRows, readCounts, readRules, users } from './requests.ts'
import { requestWithRight } from './run-work.ts'
import { dataSources, instances, tiers } from './schedule.ts'
import type { World } from './world.ts'

const timeoutMs = 90_000
const pollMs = 500

/** The final state of a cluster, and what is unfinished in it. */
interface Final {
  readonly problem: string | null
  readonly rest: Rest
}

/**
 * Waits until the cluster has finished all requested work. Returns the final state, or what it was still
 * waiting for. Throws if the final state cannot be read.
 */
export async function waitUntilIdle(world: World): Promise<Final> {
  let last: Final | undefined
  const look = async (): Promise<Final> => {
    last = undefined
    const rest = await observeIdle(world)
    last = { problem: problemOf(rest), rest }
    return last
  }
  const isIdle = ({ problem }: Final) => problem === null
  try {
    return await waitUntil('the cluster is idle', look, isIdle, { timeoutMs, pollMs })
  } catch (error) {
    if (last) return last
    throw error
  }
}

function problemOf(rest: Rest): string | null {
  const unfinished = rest.tasks.filter(({ state }) => state !== 'SUCCESS' && state !== 'FAILED')
  const wrong = [
    ...unfinished.map(({ id, state }) => `task [${id}] is ${state}`),
    ...wrongCopies(rest),
    ...(new Set(Object.values(rest.accepted)).size > 1
      ? [`access of the changing user: ${JSON.stringify(rest.accepted)}`]
      : []),
  ]
  return wrong.length === 0 ? null : wrong.slice(0, 5).join('; ')
}

async function observeIdle(world: World): Promise<Rest> {
  const { cluster, deepStorage } = world
  const { store, router } = cluster
  const historicals = Object.values(tiers).flat()
  const served = await Promise.all(
    historicals.map(async (instance) => [instance, await servedBy(cluster, instance)] as const),
  )
  const rules = await store.query<{ dataSource: string; rules: string }>(
    sql`SELECT datasource AS "dataSource", rules FROM rules`,
  )
  const compaction = await store.query<{ dataSource: string; config: string }>(
    sql`SELECT datasource AS "dataSource", config FROM compaction_configs`,
  )
  const files = await store.query<{ id: string; path: string; checksum: string }>(sql`
    SELECT id, payload -> 'loadSpec' ->> 'path' AS path, payload -> 'loadSpec' ->> 'checksum' AS checksum FROM segments`)
  const fileStates = new Map(
    files.map((segment) => [segment.id, fileState(path.join(deepStorage, segment.path), segment.checksum)]),
  )
  const tasks = await store.query<Rest['tasks'][number]>(
    sql`SELECT id, state, created_at AS "createdAt", finished_at AS "finishedAt" FROM tasks ORDER BY id`,
  )
  const counted = [...dataSources.appended, dataSources.replaced]
  const rows = await Promise.all(
    counted.map(
      async (dataSource) => [dataSource, readCounts(await sqlRows(router, countRows(dataSource)))] as const,
    ),
  )
  return {
    rules: Object.fromEntries(
      rules.map(({ dataSource, rules: text }) => [dataSource, readRules(JSON.parse(text))]),
    ),
    compaction: Object.fromEntries(
      compaction.map(({ dataSource, config }) => [dataSource, JSON.parse(config).taskPriority]),
    ),
    audit: await loadEntries(cluster),
    segments: (await loadSegments(cluster)).map((segment) => ({
      ...segment,
      file: fileStates.get(segment.id) ?? 'missing',
    })),
    tasks: tasks.map((task) => ({ ...task, id: shownTaskId(task.id) })),
    rows: Object.fromEntries(rows),
    served: Object.fromEntries(served),
    accepted: await readAccepted(cluster),
  }
}

function fileState(file: string, checksum: string): 'sound' | 'missing' | 'damaged' {
  if (!existsSync(file)) return 'missing'
  return checksumOf(file) === checksum ? 'sound' : 'damaged'
}

async function loadEntries({ store }: TestCluster): Promise<SeenAudit[]> {
  const audit = await store.query<SeenAudit>(sql`SELECT type, key, comment, payload FROM audit ORDER BY id`)
  return audit.map((entry) =>
    entry.type === 'rules'
      ? { ...entry, payload: JSON.stringify(readRules(JSON.parse(entry.payload))) }
      : entry,
  )
}

/** Whether each server gives access to the user whose permission is granted and revoked. */
async function readAccepted(cluster: TestCluster): Promise<Record<string, boolean>> {
  const answers = await Promise.all(
    Object.values(instances)
      .flat()
      .map(async (instance) => {
        const { status } = await requestWithRight(cluster, instance)
        if (status !== 200 && status !== 403)
          throw new Error(`${instance} answers ${status} to the user ${users.changing}`)
        return [instance, status === 200] as const
      }),
  )
  return Object.fromEntries(answers)
}
