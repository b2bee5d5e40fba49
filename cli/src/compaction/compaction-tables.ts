import type { CompactionStatus, DescribedPlan } from '@svc/domain/compaction'
import {
  type BarCharacters,
  countOf,
  formatBytes,
  inOneLine,
  progressBar,
  shortInterval,
  type Table,
} from '../terminal/index.ts'
import { mergeAdjacent } from './adjacent-intervals.ts'

/** A change as returned by the history endpoint. */
export interface CompactionChange {
  readonly globalConfig: Readonly<Record<string, unknown>> | null
  readonly compactionConfig: Readonly<Record<string, unknown>> | null
  readonly auditInfo: { readonly author: string; readonly identity: string; readonly comment: string } | null
  readonly auditTime: string
}

/** A task as returned by the overlord. */
export interface ListedTask {
  readonly id: string
  readonly dataSource: string
  readonly runnerStatusCode: string
  readonly progress: unknown
}

const barWidth = 24

const percent = (fraction: number): string => `${Math.floor(fraction * 100)}%`

/** The candidates in order of priority, including those that the policy postpones. */
export function candidatesTable({ candidates }: DescribedPlan): Table {
  return {
    header: ['#', 'datasource', 'interval', 'segments', 'size', 'mode', 'slots', 'reason'],
    rows: candidates.map((candidate, index) => [
      String(index + 1),
      candidate.dataSource,
      shortInterval(candidate.interval),
      String(candidate.segments.length),
      formatBytes(candidate.bytes),
      candidate.mode === null ? 'postponed' : candidate.mode === 'ALL_SEGMENTS' ? 'all' : 'uncompacted only',
      String(candidate.slots),
      candidate.reason,
    ]),
  }
}

/** The skipped intervals and the reasons. Adjacent intervals that are skipped for the same reason share a row. */
export function skippedTable({ skipped }: DescribedPlan): Table {
  const merged = mergeAdjacent(
    skipped,
    (one, other) =>
      one.dataSource === other.dataSource && one.code === other.code && one.reason === other.reason,
  )
  return {
    header: ['datasource', 'interval', 'code', 'reason'],
    rows: merged.map(({ first, text }) => [first.dataSource, text, first.code, first.reason]),
  }
}

/** The totals of each datasource. */
export function sumsTable({ stats }: DescribedPlan): Table {
  return {
    header: ['datasource', 'compacted', 'awaiting', 'skipped'],
    rows: Object.entries(stats).map(([dataSource, { compacted, awaiting, skipped }]) => [
      dataSource,
      ...[compacted, awaiting, skipped].map(({ bytes, segments, intervals }) =>
        figures(bytes, segments, intervals),
      ),
    ]),
  }
}

/** Progress of each datasource. The bar shows the compacted fraction of the data that is not skipped, if there is any. */
export function statusTable(statuses: readonly CompactionStatus[], bar: BarCharacters): Table {
  return {
    header: ['datasource', 'done', '', 'compacted', 'awaiting', 'skipped'],
    rows: statuses.map((status) => {
      const totalBytes = status.bytesCompacted + status.bytesAwaitingCompaction
      const fraction = status.bytesCompacted / totalBytes
      return [
        status.dataSource,
        ...(totalBytes === 0 ? ['', ''] : [progressBar(fraction, barWidth, bar), percent(fraction)]),
        figures(status.bytesCompacted, status.segmentCountCompacted, status.intervalCountCompacted),
        figures(
          status.bytesAwaitingCompaction,
          status.segmentCountAwaitingCompaction,
          status.intervalCountAwaitingCompaction,
        ),
        figures(status.bytesSkipped, status.segmentCountSkipped, status.intervalCountSkipped),
      ]
    }),
  }
}

/** Progress of the tasks that are not complete. */
export function tasksTable(tasks: readonly ListedTask[], bar: BarCharacters): Table {
  return {
    header: ['task', 'datasource', 'state', 'done', ''],
    rows: tasks.map(({ id, dataSource, runnerStatusCode, progress }) => {
      const reported = (progress ?? {}) as { fraction?: unknown }
      const fraction = typeof reported.fraction === 'number' ? reported.fraction : 0
      return [id, dataSource, runnerStatusCode, progressBar(fraction, barWidth, bar), percent(fraction)]
    }),
  }
}

/** One row for each change, in the order given. */
export function historyTable(changes: readonly CompactionChange[]): Table {
  return {
    header: ['time', 'author', 'user', 'comment', 'datasource', 'cluster'],
    rows: changes.map(({ auditTime, auditInfo, compactionConfig, globalConfig }) => [
      auditTime,
      inOneLine(auditInfo?.author ?? ''),
      inOneLine(auditInfo?.identity ?? ''),
      inOneLine(auditInfo?.comment ?? ''),
      compactionConfig === null ? 'removed' : summaryOf(compactionConfig),
      globalConfig === null ? '' : summaryOf(globalConfig),
    ]),
  }
}

const figures = (bytes: number, segments: number, intervals: number): string =>
  segments === 0
    ? '-'
    : `${formatBytes(bytes)} in ${countOf(segments, 'segment')}, ${countOf(intervals, 'interval')}`

const maxSummaryLength = 100

/** The fields that have a value, on one line. */
function summaryOf(config: Readonly<Record<string, unknown>>): string {
  const fields = Object.entries(config).filter(([name, value]) => value !== null && name !== 'dataSource')
  const text = inOneLine(
    fields
      .map(([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : value}`)
      .join(', '),
  )
  return text.length > maxSummaryLength ? `${text.slice(0, maxSummaryLength)}…` : text
}
