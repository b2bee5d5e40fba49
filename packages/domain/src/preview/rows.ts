import { formatInterval } from '../time/index.ts'
import type { DatasourceOutcome } from './datasource-outcome.ts'
import type { Outcome } from './decide-outcome.ts'
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
  const { columns, stretches, segments } = datasource
  const { count, indexes, overshadowedIndexes } = columns
  const describe = (index: number) => ({
    dataSource: columns.dataSource,
    interval: formatInterval({ start: segments.start(index), end: segments.end(index) }),
    version: segments.version(index),
    partitionNum: segments.partitionNum(index),
  })
  for (const stretch of stretches) {
    if (stretch.to <= from) continue
    const rule = referenceTo(datasource, stretch.rule)
    const tiers = tiersOf(datasource, outcome, stretch.rule)
    for (let position = Math.max(stretch.from, from); position < stretch.to; position += 1) {
      const index = indexes[position]!
      const row = {
        ...describe(index),
        overshadowed: false,
        rule,
        ...copiesAt(datasource, outcome, stretch.rule, tiers, position),
      }
      yield { index, row }
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

/** Returns the tiers that may have replicas of the segments of a rule. */
function tiersOf({ targetOf, placed }: DatasourceOutcome, { cluster }: Outcome, rule: number): number[] {
  const { byHolder } = targetOf(rule)
  return [...cluster.tiers.keys()].filter((tier) => placed[tier] !== undefined || byHolder.has(tier))
}

function copiesAt(
  { targetOf, placed, before }: DatasourceOutcome,
  { cluster }: Outcome,
  rule: number,
  tiers: readonly number[],
  position: number,
): Pick<PreviewRow, 'action' | 'loaded' | 'brokers'> {
  const { action, byHolder } = targetOf(rule)
  const brokers = cluster.tiers.length
  const loaded: [tier: string, copies: number][] = []
  for (const tier of tiers) {
    const count = placed[tier]?.[position] ?? byHolder.get(tier)?.copies ?? 0
    if (count > 0) loaded.push([cluster.tiers[tier]!.name, count])
  }
  return {
    action,
    loaded: Object.fromEntries(loaded),
    // Segments that a broadcast rule loaded on brokers stay there under a load rule.
    brokers:
      action === 'load'
        ? (before[brokers]?.[position] ?? 0)
        : (placed[brokers]?.[position] ?? byHolder.get(brokers)?.copies ?? 0),
  }
}

/** Returns the number of rows of a datasource. */
export const rowCount = ({ columns }: DatasourceOutcome): number =>
  columns.count + columns.overshadowed.segments
