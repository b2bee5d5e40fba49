import type { AnsweredLoadTime } from '@svc/domain/load-time'
import type { AnsweredSummary, CopyTally } from '@svc/domain/preview'
import { formatBytes, type Table } from '../terminal/index.ts'

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
  return `The state of the cluster is not known yet: ${reasons.join('; ')}`
}

/** A preview as returned by the coordinator. */
export interface AnsweredPreview {
  readonly now: string
  readonly known?: true
  readonly summary: AnsweredSummary & { readonly loadTime?: AnsweredLoadTime }
  readonly warnings: readonly {
    readonly type: string
    readonly message: string
    /** What periods that do not add up would keep if they did. */
    readonly sum?: string
    readonly dataSource?: string
    readonly rule?: { readonly index: number; readonly source: 'datasource' | 'default' }
  }[]
  /** The IDs of the segments that rules mark as unused, by datasource. Only previews of Druid have them. */
  readonly unusedSegments?: Readonly<Record<string, readonly string[]>>
}

/** Whether a preview leaves out datasources that the change may affect, because the user may not read them. */
export const leavesOutDatasources = ({ warnings }: Pick<AnsweredPreview, 'warnings'>): boolean =>
  warnings.some(({ type }) => type === 'incompletePreview')

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
  return { header: ['datasource', 'tier', 'replicas before', 'after', 'loaded', 'dropped'], rows }
}

/** One row per tier: bytes before and after, capacity, and what exceeds it. */
export function tiersTable({ summary }: AnsweredPreview): Table {
  return {
    header: ['tier', 'servers', 'bytes before', 'after', 'capacity', 'does not fit', 'first on'],
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
