import { formatRule, type RuleJson } from '../rules/index.ts'
import type { Axis } from './buckets.ts'
import type { DatasourceOutcome } from './datasource-outcome.ts'
import { type Outcome, outcomeOf } from './decide-outcome.ts'
import { upperBound } from './sorted.ts'

/** A rule that applies to segments. */
export interface ApplyingRule {
  /** Number of the rule in the list of the datasource, or in the cluster defaults. */
  readonly index: number
  readonly isDefault: boolean
  readonly rule: RuleJson
}

/** Which rules apply to the segments in each bucket of an axis. */
export interface RuleLane {
  /** The rules that buckets list, by number. */
  readonly rules: ReadonlyMap<number, ApplyingRule>
  readonly buckets: readonly RulesOfBucket[]
}

interface RulesOfBucket {
  /** The first rules that apply, by number: first those of the datasource, then the cluster defaults, then the built-in last rule. */
  readonly first: readonly number[]
  /** Number of all rules that apply. */
  readonly count: number
}

// Maximum number of rules to list for a bucket.
const maxRulesListed = 3

// Number of searches between two pauses.
const slice = 16_384

/** Returns which rules apply to the visible segments of a datasource in each bucket of an axis. Yields regularly. */
export function* ruleLaneOf(
  outcome: Outcome,
  dataSource: string,
  axis: Axis,
): Generator<undefined, RuleLane> {
  const datasource = outcomeOf(outcome, dataSource)
  const changesOf = new Map<number, Int32Array>()
  if (datasource) {
    const { columns, stretches } = datasource
    const { starts, ends } = columns
    let work = 0
    for (const { from, to, rule } of stretches) {
      // The number of ranges that start in each bucket, minus the number of those that ended before it.
      const changes = changesOf.get(rule) ?? new Int32Array(axis.count + 1)
      for (let at = upperBound(ends, axis.start, from, to); at < to; ) {
        const first = Math.floor((starts[at]! - axis.start) / axis.widthMs)
        if (first >= axis.count) break
        const next = Math.min(axis.count, Math.ceil((ends[at]! - axis.start) / axis.widthMs))
        changes[Math.max(0, first)]! += 1
        changes[next]! -= 1
        changesOf.set(rule, changes)
        if (next === axis.count) break
        // The skipped segments start no earlier and end no later, so they are in the same buckets.
        at = upperBound(ends, axis.start + next * axis.widthMs, at + 1, to)
        work += 1
        if (work % slice === 0) yield
      }
    }
  }
  const buckets = yield* rulesOfBuckets(changesOf, axis.count)
  const listed = new Set(buckets.flatMap(({ first }) => first))
  return {
    rules: new Map(datasource && [...listed].map((number) => [number, ruleOf(datasource, number)])),
    buckets,
  }
}

function ruleOf({ own, boundaries }: DatasourceOutcome, number: number): ApplyingRule {
  const isDefault = number >= own.length
  const rule = formatRule(boundaries.ruleAt(number))
  return { index: isDefault ? number - own.length : number, isDefault, rule }
}

function* rulesOfBuckets(
  changesOf: ReadonlyMap<number, Int32Array>,
  count: number,
): Generator<undefined, RulesOfBucket[]> {
  const buckets = Array.from({ length: count }, () => ({ first: [] as number[], count: 0 }))
  const inOrder = [...changesOf].sort(([a], [b]) => a - b)
  for (const [number, changes] of inOrder) {
    yield
    let open = 0
    for (const [at, bucket] of buckets.entries()) {
      open += changes[at]!
      if (open === 0) continue
      bucket.count += 1
      if (bucket.first.length < maxRulesListed) bucket.first.push(number)
    }
  }
  return buckets
}
