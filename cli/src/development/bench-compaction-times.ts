import { createWriteStream } from 'node:fs'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { unavailable } from '@svc/domain/failure'
import { type ClusterClient, connectToCluster } from '../client/index.ts'
import type { AnsweredSchedule } from '../compaction/index.ts'
import { describeMachine, type PredictedTime, predictedTimeOf, predictedTimeText } from './figures.ts'
import { ingestDays, until } from './ingest-days.ts'
import { withTemporaryCluster } from './temporary-cluster.ts'

/** Results of the benchmark of compaction times. */
export interface CompactionTimesBenchmark {
  readonly machine: string
  readonly figures: readonly (PredictedTime & { readonly tasks: number; readonly megabytes: number })[]
}

/** A datasource that is compacted on its own. */
interface CompactionCase {
  readonly name: string
  readonly dataSource: string
  /** The number of rows of each day. */
  readonly rowsOfDays: readonly number[]
  readonly config: object
}

const firstDay = Date.UTC(2026, 0, 1)
const dayMs = 86_400_000
const times = (count: number, ...rows: number[]): number[] => Array.from({ length: count }, () => rows).flat()

// Small and large tasks, to measure the time of a task and that of a byte.
const warmUp: CompactionCase = {
  name: 'warm-up',
  dataSource: 'warm-up',
  rowsOfDays: times(4, 5000, 150_000),
  config: {},
}

const cases: readonly CompactionCase[] = [
  { name: '20 small intervals', dataSource: 'small', rowsOfDays: times(20, 5000), config: {} },
  { name: '6 large intervals', dataSource: 'large', rowsOfDays: times(6, 300_000), config: {} },
  {
    name: '6 small and 6 large intervals',
    dataSource: 'mixed',
    rowsOfDays: times(6, 5000, 200_000),
    config: {},
  },
  {
    name: '30 days into a month',
    dataSource: 'month',
    rowsOfDays: times(30, 30_000),
    config: { granularitySpec: { segmentGranularity: 'MONTH' } },
  },
  {
    name: '6 large intervals with rollup',
    dataSource: 'rollup',
    rowsOfDays: times(6, 300_000),
    config: {
      granularitySpec: { queryGranularity: 'HOUR', rollup: true },
      metricsSpec: [{ type: 'longSum', name: 'added', fieldName: 'added' }],
    },
  },
]

/** Predicts how long the compaction of several datasources takes, and measures it, in a cluster with two slots. */
export async function benchCompactionTimes(
  onStep: (text: string) => void,
): Promise<CompactionTimesBenchmark> {
  // With the default period, most of the time of a short task is the wait for the next run.
  const options = { profile: 'plain', set: ['svc.compaction.period=PT1S'] }
  return await withTemporaryCluster(
    () => options,
    async ({ home }) => {
      const client = connectToCluster(home)
      await client.send('POST', '/svc/indexer/v1/compaction/config/cluster', {
        compactionTaskSlotRatio: 1,
        maxCompactionTaskSlots: 2,
      })
      for (const one of [warmUp, ...cases]) await ingest(client, home.input, one)
      await compact(client, warmUp)
      const figures: CompactionTimesBenchmark['figures'][number][] = []
      for (const one of cases) {
        const figure = await compact(client, one)
        figures.push(figure)
        onStep(predictedTimeText(figure))
      }
      return { machine: describeMachine(), figures }
    },
  )
}

/** Ingests random rows, as one segment for each day. */
async function ingest(
  client: ClusterClient,
  folder: string,
  { dataSource, rowsOfDays }: CompactionCase,
): Promise<void> {
  const file = `${dataSource}.csv`
  await pipeline(Readable.from(linesOf(rowsOfDays)), createWriteStream(path.join(folder, file)))
  await ingestDays(client, {
    ...{ dataSource, folder, file, timestampFormat: 'millis' },
    dimensions: ['page', 'who'],
    metrics: ['added'],
  })
}

function* linesOf(rowsOfDays: readonly number[]): Generator<string> {
  yield 'time,page,who,added\n'
  let random = 1
  const next = (limit: number): number => {
    random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0
    return random % limit
  }
  for (const [day, rows] of rowsOfDays.entries())
    for (let row = 0; row < rows; row++)
      yield `${firstDay + day * dayMs + next(1440) * 60_000},page ${next(1000)},person ${next(99_991)},${next(1000)}\n`
}

/** Previews the compaction of a datasource, starts it, and waits until all of its tasks have succeeded. */
async function compact(
  client: ClusterClient,
  { name, dataSource, config }: CompactionCase,
): Promise<CompactionTimesBenchmark['figures'][number]> {
  const full = { dataSource, skipOffsetFromLatest: 'PT0S', ...config }
  const { variants } = (await client.send('POST', '/svc/indexer/v1/compaction/schedule', {
    compactionConfigs: [full],
  })) as AnsweredSchedule
  const { totals } = variants.find((variant) => variant.name === 'given')!
  const predictedMs = Date.parse(totals.endsAt!) - Date.now()
  const startedAt = performance.now()
  await client.send('POST', `/svc/indexer/v1/compaction/config/datasources/${dataSource}`, full)
  await until(`[${dataSource}] is compacted`, async () => {
    const tasks = (await client.send(
      'GET',
      `/svc/indexer/v1/tasks?datasource=${dataSource}&type=compact`,
    )) as {
      statusCode: string
    }[]
    if (tasks.some(({ statusCode }) => statusCode === 'FAILED'))
      throw unavailable(`Compaction of [${dataSource}] failed`)
    return tasks.filter(({ statusCode }) => statusCode === 'SUCCESS').length >= totals.tasks
  })
  const measuredMs = performance.now() - startedAt
  return {
    ...predictedTimeOf(name, predictedMs, measuredMs),
    tasks: totals.tasks,
    megabytes: totals.bytes / 1e6,
  }
}
