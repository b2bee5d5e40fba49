import { copyFlag, type SegmentTable } from '../inventory/index.ts'
import {
  CopyPlanner,
  type LoadingServer,
  type MoveList,
  MovePlanner,
  type Plan,
  type PlanLimits,
  type PreparedWanted,
  type Unplaced,
} from '../loading/index.ts'
import {
  defaultRulesName,
  type Rule,
  type RuleBoundaries,
  type RulesByName,
  ruleBoundariesOf,
} from '../rules/index.ts'

/** Everything that one run decides from, beside the segments. */
export interface RetentionSnapshot {
  /** The cluster's time in epoch milliseconds. */
  readonly now: number
  readonly rules: RulesByName
  readonly servers: readonly LoadingServer[]
  readonly limits: PlanLimits
}

/** Segments to be marked unused, and why. */
export interface UnusedSegments {
  readonly rows: readonly number[]
  readonly reason: 'dropRule' | 'overshadowed'
}

/** What a part of a run sets going. */
export interface RetentionPlan extends Plan {
  readonly markUnused: readonly UnusedSegments[]
}

/** What a datasource's rules were at the last run, and what they wanted of the servers of then. */
interface KnownRules {
  readonly own: readonly Rule[] | undefined
  readonly defaults: readonly Rule[] | undefined
  readonly boundaries: RuleBoundaries
  /** The keys of what the rules wanted that segments were under, by the number of the rule. */
  readonly keys: readonly (string | undefined)[]
}

/**
 * Decides the runs over one segment table, and keeps from one to the next what they found. A run looks at segments
 * whose copies, group, rule or visibility changed since the last one, at those under boundaries that time has passed,
 * and at those of which something is still to be done; what it decides is what a run over everything would.
 */
export class RetentionPlanner {
  private readonly table: SegmentTable
  private readonly known: (KnownRules | undefined)[] = []
  private readonly serverKeys = new Map<number, string>()
  private readonly moves: MovePlanner

  constructor(table: SegmentTable) {
    this.table = table
    this.moves = new MovePlanner(table)
  }

  /** Begins a run; `wholly` makes it look at everything. */
  begin(snapshot: RetentionSnapshot, wholly = false): RetentionRun {
    const { table } = this
    if (wholly) {
      this.known.length = 0
      table.markAll()
    }
    table.settleTimeline()
    this.markChangedServers(snapshot.servers)
    const planner = new CopyPlanner(table, snapshot.servers, snapshot.limits)
    const prepared = table.datasourceNames.map((name, number) =>
      table.usedCountOf(number) === 0 ? [] : this.prepareDatasource(name, number, snapshot, planner),
    )
    return new RetentionRun(table, planner, this.moves, prepared)
  }

  /** A server that begins or ends to be emptied, or has become another, changes what its copies count for. */
  private markChangedServers(servers: readonly LoadingServer[]): void {
    const gone = new Set(this.serverKeys.keys())
    const changed = new Set<number>()
    for (const { number, name, type, tier, decommissioning } of servers) {
      gone.delete(number)
      const key = JSON.stringify([name, type, tier, decommissioning])
      if (this.serverKeys.get(number) === key) continue
      this.serverKeys.set(number, key)
      changed.add(number)
    }
    for (const number of gone) {
      this.serverKeys.delete(number)
      changed.add(number)
    }
    if (changed.size > 0) this.table.markServers(changed)
  }

  /** Brings the rule of every group up to date, and marks those for which something else is wanted now. */
  private prepareDatasource(
    name: string,
    number: number,
    { now, rules }: RetentionSnapshot,
    planner: CopyPlanner,
  ): readonly PreparedWanted[] {
    const { table } = this
    const before = this.known[number]
    const own = rules.get(name)
    const defaults = rules.get(defaultRulesName)
    const sameRules = before !== undefined && before.own === own && before.defaults === defaults
    const boundaries = ruleBoundariesOf(rules, name, now)
    const isPassed = sameRules ? before.boundaries.sweptUntil(now) : () => true
    // Most of the rules of a long list have no segments: only the others are prepared.
    const prepared: PreparedWanted[] = []
    const keys: (string | undefined)[] = []
    for (const group of table.groupsOf(number)) {
      const start = table.startOf[group]!
      const end = table.endOf[group]!
      const old = table.ruleOf[group]!
      const rule = old >= 0 && !isPassed(start) && !isPassed(end) ? old : boundaries.match({ start, end })
      if (prepared[rule] === undefined) {
        const one = planner.prepare(boundaries.wantedBy(rule))
        prepared[rule] = one
        // The same string object where nothing changed: keys may be long, and each group compares two of them.
        keys[rule] = before?.keys[rule] === one.key ? before.keys[rule] : one.key
      }
      table.ruleOf[group] = rule
      if (old >= 0 && before?.keys[old] === keys[rule]) continue
      table.markGroup(group)
      table.noteServedChange(group)
    }
    this.known[number] = { own, defaults, boundaries, keys }
    return prepared
  }
}

/** One run, planned part by part so that whoever applies the plan can do other things in between. */
export class RetentionRun {
  private readonly table: SegmentTable
  private readonly planner: CopyPlanner
  private readonly movePlanner: MovePlanner
  /** What each rule wants, by datasource. */
  private readonly prepared: readonly (readonly PreparedWanted[])[]
  private nextRow = 0
  private isCovered = false

  constructor(
    table: SegmentTable,
    planner: CopyPlanner,
    moves: MovePlanner,
    prepared: readonly (readonly PreparedWanted[])[],
  ) {
    this.table = table
    this.planner = planner
    this.movePlanner = moves
    this.prepared = prepared
  }

  /**
   * Decides for the next segments, `most` of those that have to be looked at, and undefined when all have been: every
   * used segment falls under the first rule that applies to it and gets its copies; what a drop rule catches becomes
   * unused; an overshadowed segment becomes unused, and not before, once what hides it is served; what is served but
   * not used is dropped. A segment is decided by what is known of it at this moment.
   */
  next(most = Infinity): RetentionPlan | undefined {
    if (!this.isCovered) {
      this.isCovered = true
      const rows = this.coveredRows()
      return { ...this.planner.take(), markUnused: [{ rows, reason: 'overshadowed' }] }
    }
    const { table, planner } = this
    if (this.nextRow >= table.rowLimit) return undefined
    const dropped: number[] = []
    let left = most
    let row = this.nextRow
    for (; row < table.rowLimit && left > 0; row += 1) {
      if (table.markedOf[row] === 0) continue
      left -= 1
      table.markedOf[row] = this.planRow(row, dropped) ? 1 : 0
    }
    this.nextRow = row
    return { ...planner.take(), markUnused: [{ rows: dropped, reason: 'dropRule' }] }
  }

  /** Moves within tiers, to be asked for when all segments have been decided; some at a time of each tier. */
  moves(maxSegmentsToMove: number): MoveList {
    return this.planner.planMoves(this.movePlanner, maxSegmentsToMove, (row) => this.preparedOf(row))
  }

  /** Copies that rules want in tiers which have no server, by tier. */
  tiersWithoutServers(): ReadonlyMap<string, number> {
    const { table } = this
    // Segments first, then tiers: a rule may name thousands of them.
    const segments = new Map<PreparedWanted, number>()
    this.prepared.forEach((rules, number) => {
      if (!rules.some(({ tiersWithoutServers }) => tiersWithoutServers.length > 0)) return
      for (const group of table.groupsOf(number)) {
        const wanted = rules[table.ruleOf[group]!]
        if (wanted === undefined || table.hiddenOf[group] === 1) continue
        segments.set(wanted, (segments.get(wanted) ?? 0) + table.memberCountOf[group]!)
      }
    })
    const copiesByTier = new Map<string, number>()
    for (const [{ tiersWithoutServers }, count] of segments) {
      for (const [tier, copies] of tiersWithoutServers)
        copiesByTier.set(tier, (copiesByTier.get(tier) ?? 0) + copies * count)
    }
    return copiesByTier
  }

  /** The wanted copies that were given to no server so far. */
  unplaced(): readonly Unplaced[] {
    return this.planner.allUnplaced()
  }

  /** Whether the segment has to be looked at again by the next run. */
  private planRow(row: number, dropped: number[]): boolean {
    const { table, planner } = this
    const group = table.groupOf[row]!
    if (group === -1) return planner.planUnused(row)
    // Hidden segments keep their copies until they are marked unused.
    if (table.hiddenOf[group] === 1) return false
    const prepared = this.preparedOf(row)
    // Its group has come during this run.
    if (prepared === undefined) return true
    const isOpen = planner.planSegment(row, prepared)
    if (prepared.wanted.action !== 'drop') return isOpen
    dropped.push(row)
    return true
  }

  private preparedOf(row: number): PreparedWanted | undefined {
    const group = this.table.groupOf[row]!
    return this.prepared[this.table.datasourceOf[group]!]?.[this.table.ruleOf[group]!]
  }

  private coveredRows(): number[] {
    const { table } = this
    const { copies } = table
    const covered = table.takeCovered((row, group) => {
      // Visible segments that no tier is to hold hide as well as served ones. A version between that nobody serves
      // hides nothing: what it would hide may be all that answers queries.
      if (
        table.hiddenOf[group] === 0 &&
        this.prepared[table.datasourceOf[group]!]?.[table.ruleOf[group]!]?.wantsNoCopy
      )
        return true
      for (let entry = copies.firstOf[row]!; entry >= 0; entry = copies.nextOf[entry]!)
        if ((copies.flagsOf[entry]! & copyFlag.served) !== 0) return true
      return false
    })
    const rows: number[] = []
    for (const group of covered) table.forEachRow(group, (row) => rows.push(row))
    return rows
  }
}
