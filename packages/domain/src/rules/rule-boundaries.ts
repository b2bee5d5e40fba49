import type { Interval } from '../time/index.ts'
import { describeWantedCopies, type WantedCopies } from './match.ts'
import { defaultRule, type Rule } from './rule.ts'
import { type RuleBounds, type RuleList, ruleListAt } from './rule-list.ts'

/**
 * The rules of a datasource as of one moment: its own, the default rules of the cluster, and the rule that ends every
 * list. Rules are numbered from 0 through all of them.
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

  /** The number of all rules. */
  get count(): number {
    return this.own.length + this.defaults.length + 1
  }

  /** The rule with a number. */
  ruleAt(index: number): Rule {
    const { own, defaults } = this
    return own[index] ?? defaults[index - own.length] ?? defaultRule
  }

  /** What the rule with a number wants. */
  wantedBy(index: number): WantedCopies {
    return describeWantedCopies(this.ruleAt(index))
  }

  /** The number of the first rule that applies to a segment of the interval. */
  match({ start, end }: Interval): number {
    const ofOwn = this.ownList.match(start, end)
    if (ofOwn >= 0) return ofOwn
    const ofDefaults = this.defaultList.match(start, end)
    return this.own.length + (ofDefaults >= 0 ? ofDefaults : this.defaults.length)
  }

  /** The instants at which a segment may come under another rule, of each list. */
  bounds(): readonly RuleBounds[] {
    return [this.ownList.allBounds(), this.defaultList.allBounds()]
  }

  /**
   * Whether a bound of the rules passes an instant while time goes from the moment of these to `now`: only a segment that
   * starts or ends at such an instant may fall under another rule.
   */
  sweptUntil(now: number): (instant: number) => boolean {
    // A list of fixed rules may have been built for another moment than this one.
    const lists = [this.ownList, this.defaultList].filter(({ isFixed }) => !isFixed)
    if (lists.length === 0 || now === this.now) return () => false
    const swept = lists.map((list) => list.sweptUntil(now))
    return (instant) => swept.some((times) => times.has(instant))
  }
}
