import { formatInterval } from '../time/index.ts'
import type { DatasourceOutcome } from './datasource-outcome.ts'
import type { Outcome } from './decide-outcome.ts'
import type { CopyChange } from './pieces.ts'
import { type RuleReference, referenceTo } from './warnings.ts'

/** What happens to one segment. */
export interface PreviewRow {
  readonly dataSource: string
  readonly interval: string
  readonly version: string
  readonly partitionNum: number
  readonly overshadowed: boolean
  /** The rule that applies. Null for overshadowed segments. */
  readonly rule: RuleReference | null
  readonly action: 'load' | 'drop' | 'broadcast'
  /** Replicas by tier after all loads and drops. Tiers without replicas are omitted. */
  readonly loaded: Readonly<Record<string, number>>
  /** Number of brokers that serve the segment after all loads and drops. */
  readonly brokers: number
}

/** Yields the rows of a datasource, with their indexes, in the order of its columns. Overshadowed rows come last. */
export function* rowsOf(
  datasource: DatasourceOutcome,
  outcome: Outcome,
  from = 0,
): Generator<{ readonly index: number; readonly row: PreviewRow }, void> {
  const { columns, stretches, segments, pieces } = datasource
  const { count, indexes, overshadowedIndexes } = columns
  const describe = (index: number) => ({
    dataSource: columns.dataSource,
    interval: formatInterval({ start: segments.start(index), end: segments.end(index) }),
    version: segments.version(index),
    partitionNum: segments.partitionNum(index),
  })
  let piece = -1
  let copies: ReturnType<typeof copiesAfter> | undefined
  for (const stretch of stretches) {
    if (stretch.to <= from) continue
    const rule = referenceTo(datasource, stretch.rule)
    for (let position = Math.max(stretch.from, from); position < stretch.to; position += 1) {
      if (copies === undefined || pieces.ends[piece]! <= position) {
        do piece += 1
        while (pieces.ends[piece]! <= position)
        copies = copiesAfter(pieces.changes[pieces.changeAt[piece]!]!, outcome)
      }
      const index = indexes[position]!
      yield { index, row: { ...describe(index), overshadowed: false, rule, ...copies } }
    }
  }
  for (let at = Math.max(0, from - count); at < overshadowedIndexes.length; at += 1) {
    const index = overshadowedIndexes[at]!
    const row = {
      ...describe(index),
      overshadowed: true,
      rule: null,
      action: 'drop' as const,
      loaded: {},
      brokers: 0,
    }
    yield { index, row }
  }
}

function copiesAfter(
  change: CopyChange,
  { cluster }: Outcome,
): Pick<PreviewRow, 'action' | 'loaded' | 'brokers'> {
  const loaded: [tier: string, copies: number][] = []
  change.forEachTier((tier, _, copies) => {
    if (copies > 0) loaded.push([cluster.tiers[tier]!.name, copies])
  })
  return {
    action: change.target.action,
    loaded: Object.fromEntries(loaded),
    brokers: change.brokersAfter,
  }
}

/** Returns the number of rows of a datasource. */
export const rowCount = ({ columns }: DatasourceOutcome): number =>
  columns.count + columns.overshadowed.segments
