import type { Interval } from '../time/index.ts'
import { defaultRule } from './rule.ts'
import { type RuleBounds, type RuleList, ruleListAt } from './rule-list.ts'
import { describeWantedCopies, type Rule, type WantedCopies } from './rule-types.ts'

function requiredReplicas(wanted: WantedCopies, historicals: number): number {
  if (wanted.action !== 'load') return wanted.action === 'broadcast' ? historicals : 0
  let sum = 0
  for (const count of wanted.tieredReplicants.values()) sum += count
  return sum
}

/**
 * All rules of a datasource at one point in time: its own rules, the cluster's default rules, and the rule that ends
 * every list. Rule numbers start at 0 and continue through all three.
 */
export class RuleBoundaries {
  private readonly now: number
  private readonly own: readonly Rule[]
  private readonly defaults: readonly Rule[]
  private readonly ownList: RuleList
  private readonly defaultList: RuleList

  constructor(own: readonly Rule[], defaults: readonly Rule[], now: number) {
    this.now = now
    this.own = own
    this.defaults = defaults
    this.ownList = ruleListAt(own, now)
    this.defaultList = ruleListAt(defaults, now)
  }

  /** Number of rules, including defaults. */
  get count(): number {
    return this.own.length + this.defaults.length + 1
  }

  /** Returns a rule by number. */
  ruleAt(index: number): Rule {
    const { own, defaults } = this
    return own[index] ?? defaults[index - own.length] ?? defaultRule
  }

  /** Returns what a rule, given by number, requires. */
  wantedBy(index: number): WantedCopies {
    return describeWantedCopies(this.ruleAt(index))
  }

  /**
   * Returns a function that returns how many replicas of each segment a rule, given by number, requires in all tiers; a
   * broadcast rule requires one on each historical. It counts each rule once, because a rule may list thousands of tiers.
   */
  replicaCounter(historicals: number): (index: number) => number {
    const counts = new Map<number, number>()
    return (index) => {
      let count = counts.get(index)
      if (count === undefined) {
        count = requiredReplicas(this.wantedBy(index), historicals)
        counts.set(index, count)
      }
      return count
    }
  }

  /** Returns the number of the first rule that applies to a segment with this interval. */
  match({ start, end }: Interval): number {
    const ofOwn = this.ownList.match(start, end)
    if (ofOwn >= 0) return ofOwn
    const ofDefaults = this.defaultList.match(start, end)
    return this.own.length + (ofDefaults >= 0 ? ofDefaults : this.defaults.length)
  }

  /** Returns, for each list, the instants where a different rule may start to apply. */
  bounds(): readonly RuleBounds[] {
    return [this.ownList.allBounds(), this.defaultList.allBounds()]
  }

  /**
   * Returns a function that checks whether a rule bound passes an instant between the time of these rules and `now`.
   * The matching rule can change only for segments that start or end at such an instant.
   */
  sweptUntil(now: number): (instant: number) => boolean {
    // A list without period rules may have been built for a different time.
    const lists = [this.ownList, this.defaultList].filter(({ isFixed }) => !isFixed)
    if (lists.length === 0 || now === this.now) return () => false
    const swept = lists.map((list) => list.sweptUntil(now))
    return (instant) => swept.some((times) => times.has(instant))
  }
}
