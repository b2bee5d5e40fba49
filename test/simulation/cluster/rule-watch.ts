import { coordinatorConfigName } from '@svc/shared/coordinator-dynamic-config'

// A leader may decide on rules and a configuration that were replaced up to this time ago.
const lateDecisionMs = 20_000

interface NamedRule {
  readonly tieredReplicants?: Readonly<Record<string, number>>
}

/** Rules of a datasource, as far as they say how many replicas each tier has. */
interface RulesInForce {
  readonly name: string
  readonly replicas: Readonly<Record<string, number>>
  untilMs: number
}

/** Knows which rules were in force, and which servers had to give their segments to others. */
export class RuleWatch {
  private readonly inForce: RulesInForce[] = []
  private readonly decommissionedUntilMs = new Map<string, number>()
  private readonly now: () => number

  constructor(now: () => number) {
    this.now = now
  }

  /** Notes that rules are stored. */
  noteRules(name: string, text: string): void {
    const last = this.inForce.findLast((one) => one.name === name)
    if (last !== undefined) last.untilMs = this.now()
    for (const { tieredReplicants } of JSON.parse(text) as NamedRule[])
      this.inForce.push({ name, replicas: tieredReplicants ?? {}, untilMs: Number.POSITIVE_INFINITY })
  }

  /** Notes a change of the dynamic configuration. */
  noteConfig(changed: ReadonlyMap<string, { readonly value: string } | undefined>): void {
    const value = changed.get(coordinatorConfigName)?.value
    if (value === undefined) return
    const { decommissioningNodes = [] } = JSON.parse(value) as { readonly decommissioningNodes?: string[] }
    const now = this.now()
    for (const [instance, untilMs] of this.decommissionedUntilMs)
      if (untilMs === Number.POSITIVE_INFINITY) this.decommissionedUntilMs.set(instance, now)
    for (const node of decommissioningNodes)
      this.decommissionedUntilMs.set(node.split(':', 1)[0]!, Number.POSITIVE_INFINITY)
  }

  /** Whether a leader may consider a server as one that gives its segments to others. */
  isLeaving(instance: string): boolean {
    const untilMs = this.decommissionedUntilMs.get(instance)
    return untilMs !== undefined && this.now() - untilMs < lateDecisionMs
  }

  /** The lists of tiers that rules which were in force in the last `ms` name. */
  namedTiers(dataSource: string, ms: number): string[][] {
    return this.recent(dataSource, ms).map(({ replicas }) =>
      Object.keys(replicas).filter((tier) => replicas[tier]! > 0),
    )
  }

  /**
   * The smallest number of replicas that any rules require on which a leader may decide now. A tier has at most as many as it has
   * servers: `countServers` says how many a leader is sure to know.
   */
  minReplicas(dataSource: string, countServers: (tier: string) => number): number {
    const totals = this.recent(dataSource, lateDecisionMs).map(({ replicas }) =>
      Object.entries(replicas).reduce((sum, [tier, count]) => sum + Math.min(count, countServers(tier)), 0),
    )
    return totals.length === 0 ? 0 : Math.min(...totals)
  }

  private recent(dataSource: string, ms: number): RulesInForce[] {
    return this.inForce.filter(({ name, untilMs }) => name === dataSource && this.now() - untilMs < ms)
  }
}
