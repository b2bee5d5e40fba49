import { setTimeout as delay } from 'node:timers/promises'
import { timedOut, unavailable } from '@svc/domain/failure'
import type { ClusterClient } from '../client/index.ts'

/** A CSV file to ingest. */
export interface DailyRows {
  readonly dataSource: string
  readonly folder: string
  readonly file: string
  /** The format of the column `time`. */
  readonly timestampFormat: 'iso' | 'millis'
  readonly dimensions: readonly string[]
  /** Columns to sum. */
  readonly metrics: readonly string[]
}

const timeoutMs = 300_000
const pollMs = 200

/** Ingests a CSV file into one segment for each day, and waits until the task has succeeded. */
export async function ingestDays(
  client: ClusterClient,
  { dataSource, folder, file, timestampFormat, dimensions, metrics }: DailyRows,
): Promise<void> {
  const { task } = (await client.send('POST', '/svc/indexer/v1/task', {
    type: 'index_parallel',
    spec: {
      dataSchema: {
        dataSource,
        timestampSpec: { column: 'time', format: timestampFormat },
        dimensionsSpec: { dimensions },
        metricsSpec: metrics.map((name) => ({ type: 'longSum', name, fieldName: name })),
        granularitySpec: { segmentGranularity: 'DAY', queryGranularity: 'NONE', rollup: false },
      },
      ioConfig: {
        type: 'index_parallel',
        inputSource: { type: 'local', baseDir: folder, filter: file },
        inputFormat: { type: 'csv', findColumnsFromHeader: true },
        appendToExisting: false,
      },
      tuningConfig: { type: 'index_parallel', partitionsSpec: { type: 'dynamic' } },
    },
  })) as { task: string }
  await until(`task [${task}] is complete`, async () => {
    const path = `/svc/indexer/v1/task/${encodeURIComponent(task)}/status`
    const { status } = (await client.send('GET', path)) as { status: { statusCode: string } }
    if (status.statusCode === 'FAILED') throw unavailable(`Task [${task}] failed`)
    return status.statusCode === 'SUCCESS'
  })
}

/** Waits until something is reached. Throws a Failure after a few minutes. */
export async function until(what: string, isReached: () => Promise<boolean>): Promise<void> {
  const startedAt = performance.now()
  while (!(await isReached())) {
    if (performance.now() - startedAt > timeoutMs) throw timedOut(`Timed out waiting until ${what}`)
    await delay(pollMs)
  }
}
