import { countOf } from '../terminal/index.ts'
import type { AnsweredEffects } from './effects-text.ts'
import type { Table } from './rules-table.ts'

interface CopyTally {
  readonly segments: number
  readonly copies: number
  readonly bytes: number
}

interface DatasourceSummary {
  readonly tiers: Readonly<
    Record<string, Readonly<Record<'before' | 'after' | 'loaded' | 'dropped', CopyTally>>>
  >
  readonly markedUnused: { readonly segments: number; readonly bytes: number }
  readonly oldestInterval: string | null
  readonly newestInterval: string | null
}

interface TierSummary {
  readonly servers: number
  readonly capacityBytes: number | null
  readonly bytesBefore: number
  readonly bytesAfter: number
  readonly doesNotFit: CopyTally
  /** First time at which replicas do not fit. */
  readonly doesNotFitFrom: string | null
}

/** The answer of a coordinator whose cluster is not known yet. */
export interface UnknownCluster {
  readonly now: string
  readonly known: false
  readonly reasons: readonly string[]
}

/** The answer to a request for a preview. */
export type PreviewAnswer = AnsweredPreview | UnknownCluster

/** Whether an answer has a preview. Earlier versions always return one, without this field. */
export function isKnown(answer: PreviewAnswer): answer is AnsweredPreview {
  return answer.known !== false
}

/** Why there is no preview, in one line. */
export function unknownReason({ reasons }: UnknownCluster): string {
  return `The cluster is not known yet: ${reasons.join('; ')}`
}

/** A preview as returned by the coordinator. */
export interface AnsweredPreview {
  readonly now: string
  readonly known?: true
  readonly summary: {
    readonly effects: AnsweredEffects
    readonly datasources: Readonly<Record<string, DatasourceSummary & { readonly effects: AnsweredEffects }>>
    readonly tiers?: Readonly<Record<string, TierSummary>>
    readonly steps?: readonly {
      readonly now: string
      readonly datasources: Readonly<Record<string, DatasourceSummary>>
    }[]
  }
  readonly warnings: readonly { readonly type: string; readonly message: string }[]
}

const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB']

/** A number of bytes, for example `1.5 GB`. */
export function formatBytes(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000
    unit += 1
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`
}

const amount = ({ copies, bytes }: CopyTally): string =>
  copies === 0 ? '' : `${copies} (${formatBytes(bytes)})`

/** One row per datasource and tier: replicas before and after, and how many are loaded and dropped. */
export function previewTable({ summary }: AnsweredPreview): Table {
  const rows = Object.entries(summary.datasources).flatMap(([dataSource, { tiers }]) =>
    Object.entries(tiers)
      .filter(([, { before, after }]) => before.copies + after.copies > 0)
      .map(([tier, { before, after, loaded, dropped }]) => [
        dataSource,
        tier,
        amount(before) || '0',
        amount(after) || '0',
        amount(loaded),
        amount(dropped),
      ]),
  )
  return { header: ['datasource', 'tier', 'copies before', 'after', 'loaded', 'dropped'], rows }
}

/** One row per tier: bytes before and after, capacity, and what exceeds it. */
export function tiersTable({ summary }: AnsweredPreview): Table {
  return {
    header: ['tier', 'servers', 'bytes before', 'after', 'capacity', 'does not fit', 'from'],
    rows: Object.entries(summary.tiers ?? {}).map(
      ([tier, { servers, bytesBefore, bytesAfter, capacityBytes, doesNotFit, doesNotFitFrom }]) => [
        tier,
        String(servers),
        formatBytes(bytesBefore),
        formatBytes(bytesAfter),
        capacityBytes === null ? 'unlimited' : formatBytes(capacityBytes),
        amount(doesNotFit),
        doesNotFitFrom?.split('T')[0] ?? '',
      ],
    ),
  }
}

/** One row per future time at which something changes. */
export function stepsTable({ summary }: AnsweredPreview): Table {
  const rows = (summary.steps ?? []).flatMap(({ now, datasources }) =>
    Object.entries(datasources).flatMap(([dataSource, { tiers, markedUnused }]) => {
      const changes = Object.entries(tiers).flatMap(([tier, { loaded, dropped }]) => [
        ...(loaded.copies > 0 ? [`${tier} +${loaded.copies}`] : []),
        ...(dropped.copies > 0 ? [`${tier} -${dropped.copies}`] : []),
      ])
      const unused =
        markedUnused.segments > 0 ? [`${countOf(markedUnused.segments, 'segment')} marked unused`] : []
      const what = [...changes, ...unused].join(', ')
      return what === '' ? [] : [[now, dataSource, what]]
    }),
  )
  return { header: ['time', 'datasource', 'copies'], rows }
}

/** The time range of the data that is kept; undefined if there is none. */
export function keptRange({ summary }: AnsweredPreview): { start: string; end: string } | undefined {
  const intervals = Object.values(summary.datasources).flatMap(({ oldestInterval, newestInterval }) =>
    oldestInterval === null || newestInterval === null
      ? []
      : [{ start: oldestInterval.split('/')[0]!, end: newestInterval.split('/')[1]! }],
  )
  return intervals.length === 1 ? intervals[0] : undefined
}
