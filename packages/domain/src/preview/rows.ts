import { formatInterval } from '../time/index.ts'
import type { DatasourceOutcome, Outcome } from './outcome.ts'
import { type RuleReference, referenceTo } from './warnings.ts'

/** What becomes of one segment. */
export interface PreviewRow {
  readonly dataSource: string
  readonly interval: string
  readonly version: string
  readonly partitionNum: number
  readonly overshadowed: boolean
  /** The rule that it falls under; null for an overshadowed one. */
  readonly rule: RuleReference | null
  readonly action: 'load' | 'drop' | 'broadcast'
  /** Copies once everything has settled, by tier, without tiers that have none. */
  readonly loaded: Readonly<Record<string, number>>
  /** Brokers that hold it then. */
  readonly brokers: number
}

/** The rows of a datasource in the order of its columns, the overshadowed ones last, with their numbers. */
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
    for (let position = Math.max(stretch.from, from); position < stretch.to; position += 1) {
      const index = indexes[position]!
      const row = {
        ...describe(index),
        overshadowed: false,
        rule,
        ...copiesAt(datasource, outcome, stretch.rule, position),
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

function copiesAt(
  { targetOf, placed, before }: DatasourceOutcome,
  { cluster }: Outcome,
  rule: number,
  position: number,
): Pick<PreviewRow, 'action' | 'loaded' | 'brokers'> {
  const { action, holders, byHolder } = targetOf(rule)
  const brokers = cluster.tiers.length
  const loaded: [tier: string, copies: number][] = []
  for (const one of holders) {
    const count = placed[one.holder]?.[position] ?? one.copies
    if (one.holder < brokers && count > 0) loaded.push([cluster.tiers[one.holder]!.name, count])
  }
  return {
    action,
    loaded: Object.fromEntries(loaded),
    // What a broadcast rule gave to brokers stays there under a load rule.
    brokers:
      action === 'load'
        ? (before[brokers]?.[position] ?? 0)
        : (placed[brokers]?.[position] ?? byHolder.get(brokers)?.copies ?? 0),
  }
}

/** The number of rows of a datasource. */
export const rowCount = ({ columns }: DatasourceOutcome): number =>
  columns.count + columns.overshadowed.segments
