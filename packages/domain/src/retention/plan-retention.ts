import { copyFlag, type SegmentTable } from '../inventory/index.ts'
import {
  type LoadingServer,
  type MoveList,
  MovePlanner,
  PlacementPlanner,
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
import { rowsToCheck } from './rows-to-check.ts'

/** The input of a run, except for the segments. */
export interface RetentionSnapshot {
  /** The cluster's time in epoch milliseconds. */
  readonly now: number
  readonly rules: RulesByName
  readonly servers: readonly LoadingServer[]
  readonly limits: PlanLimits
}

/** Segments to mark as unused, and why. */
export interface UnusedSegments {
  readonly rows: readonly number[]
  readonly reason: 'dropRule' | 'overshadowed'
}

/** The decisions of a part of a run. */
export interface RetentionPlan extends Plan {
  readonly markUnused: readonly UnusedSegments[]
}

/** The rules of a datasource in the last run, and what they required of the servers at that time. */
interface KnownRules {
  readonly own: readonly Rule[] | undefined
  readonly defaults: readonly Rule[] | undefined
  readonly boundaries: RuleBoundaries
  /** Keys of what the rules in use required, by rule number. */
  readonly keys: readonly (string | undefined)[]
}

/**
 * Plans runs over one segment table, and keeps state between runs. A run checks segments whose replicas, group, rule,
 * or visibility changed since the last run, segments at rule boundaries that time has passed, and segments with pending
 * work. It makes the same decisions as a full run.
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

  /** Starts a run. `wholly` makes it a full run. */
  begin(snapshot: RetentionSnapshot, wholly = false): RetentionRun {
    const { table } = this
    if (wholly) {
      this.known.length = 0
      table.markAll()
    }
    table.settleTimeline()
    this.markChangedServers(snapshot.servers)
    const planner = new PlacementPlanner(table, snapshot.servers, snapshot.limits)
    const prepared = table.datasourceNames.map((name, number) =>
      table.usedCountOf(number) === 0 ? [] : this.prepareDatasource(name, number, snapshot, planner),
    )
    return new RetentionRun(table, planner, this.moves, prepared)
  }

  /** Marks changed servers: type, tier, and decommissioning affect how their replicas count. */
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

  /** Updates the rule of every group, and marks groups whose requirements changed. */
  private prepareDatasource(
    name: string,
    number: number,
    { now, rules }: RetentionSnapshot,
    planner: PlacementPlanner,
  ): readonly PreparedWanted[] {
    const { table } = this
    const before = this.known[number]
    const own = rules.get(name)
    const defaults = rules.get(defaultRulesName)
    const sameRules = before !== undefined && before.own === own && before.defaults === defaults
    const boundaries = ruleBoundariesOf(rules, name, now)
    const isPassed = sameRules ? before.boundaries.sweptUntil(now) : () => true
    // Most rules of a long list have no segments, so prepare rules only when a segment needs them.
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
        // Reuses the same string object if nothing changed. Keys may be long, and each group compares two of them.
        keys[rule] = before?.keys[rule] === one.key ? before.keys[rule] : one.key
      }
      table.noteRule(group, rule)
      if (old >= 0 && before?.keys[old] === keys[rule]) continue
      table.markGroup(group)
      table.noteServedChange(group)
    }
    this.known[number] = { own, defaults, boundaries, keys }
    return prepared
  }
}

/** Why the servers of a tier cannot load the replicas that rules require, whatever their space: a field of `PreparedWanted`. */
export type TierLack = 'tiersWithoutServers' | 'tiersWithTooFewServers' | 'tiersWithoutActiveServers'

/** Replicas that the same rules require in a tier and that its servers cannot load. */
export interface LackingCopies {
  /** Of each segment. */
  readonly copies: number
  /** Number of the segments of each datasource, given by number. */
  readonly segments: ReadonlyMap<number, number>
}

/** Returns by tier which replicas its servers cannot load for a reason, given the number of segments by datasource and requirement. */
export function lackingByTier(
  reason: TierLack,
  segmentsOf: ReadonlyMap<PreparedWanted, ReadonlyMap<number, number>>,
): ReadonlyMap<string, readonly LackingCopies[]> {
  const lacking = new Map<string, LackingCopies[]>()
  for (const [wanted, segments] of segmentsOf)
    for (const [tier, copies] of wanted[reason]) {
      const known = lacking.get(tier)
      if (known === undefined) lacking.set(tier, [{ copies, segments }])
      else known.push({ copies, segments })
    }
  return lacking
}

/** One run, planned in parts so that the caller can do other work in between. */
export class RetentionRun {
  private readonly table: SegmentTable
  private readonly planner: PlacementPlanner
  private readonly movePlanner: MovePlanner
  /** What each rule requires, by datasource. */
  private readonly prepared: readonly (readonly PreparedWanted[])[]
  private readonly rows: Generator<number | undefined, void>
  private isCovered = false
  private isDone = false

  constructor(
    table: SegmentTable,
    planner: PlacementPlanner,
    moves: MovePlanner,
    prepared: readonly (readonly PreparedWanted[])[],
  ) {
    this.table = table
    this.planner = planner
    this.movePlanner = moves
    this.prepared = prepared
    this.rows = rowsToCheck(table)
  }

  /**
   * Returns decisions for up to `max` of the segments that need a check, newest first, or undefined after the last one.
   * Every used segment gets the replicas of the first rule that applies to it, and becomes unused if this is a drop rule.
   * An overshadowed segment becomes unused as soon as the segments that overshadow it are served. Unused segments are
   * dropped. Each decision is based on the current state of the segment.
   */
  next(max = Infinity): RetentionPlan | undefined {
    if (!this.isCovered) {
      this.isCovered = true
      const rows = this.coveredRows()
      return { ...this.planner.take(), markUnused: [{ rows, reason: 'overshadowed' }] }
    }
    const { table, planner } = this
    if (this.isDone) return undefined
    const dropped: number[] = []
    for (let left = max; left > 0; left -= 1) {
      const next = this.rows.next()
      if (next.done) {
        this.isDone = true
        break
      }
      if (next.value === undefined) {
        // Without a limit, the caller does not pause.
        if (max === Infinity) continue
        break
      }
      // Something else may have checked or freed the row since this run began.
      if (table.markedOf[next.value] === 1) table.noteChecked(next.value, this.planRow(next.value, dropped))
    }
    return { ...planner.take(), markUnused: [{ rows: dropped, reason: 'dropRule' }] }
  }

  /**
   * Plans moves within each tier. Call it only after all segments have been decided. Pauses after each list of moves, which may be
   * empty. Numbers of rows may be reused during a pause.
   */
  moves(maxSegmentsToMove: number): Generator<MoveList, MoveList> {
    return this.planner.planMoves(this.movePlanner, maxSegmentsToMove, (row) => this.preparedOf(row))
  }

  /** Returns the replicas that rules require in tiers without servers, by tier. */
  tiersWithoutServers(): ReadonlyMap<string, number> {
    const copiesByTier = new Map<string, number>()
    for (const [tier, lacking] of this.lacking('tiersWithoutServers')) {
      let sum = 0
      for (const { copies, segments } of lacking) for (const count of segments.values()) sum += copies * count
      copiesByTier.set(tier, sum)
    }
    return copiesByTier
  }

  /** Returns the replicas that rules require and that the servers of a tier cannot load for a reason, by tier. */
  lacking(reason: TierLack): ReadonlyMap<string, readonly LackingCopies[]> {
    const { table } = this
    // Counts segments first, then tiers, because a rule may list thousands of tiers.
    const segmentsOf = new Map<PreparedWanted, Map<number, number>>()
    this.prepared.forEach((rules, number) => {
      if (!rules.some((wanted) => wanted[reason].length > 0)) return
      const counts = new Map<PreparedWanted, number>()
      for (const group of table.groupsOf(number)) {
        const wanted = rules[table.ruleOf[group]!]
        if (wanted === undefined || table.hiddenOf[group] === 1) continue
        counts.set(wanted, (counts.get(wanted) ?? 0) + table.memberCountOf[group]!)
      }
      for (const [wanted, count] of counts) {
        const known = segmentsOf.get(wanted)
        if (known === undefined) segmentsOf.set(wanted, new Map([[number, count]]))
        else known.set(number, count)
      }
    })
    return lackingByTier(reason, segmentsOf)
  }

  /** Returns the required replicas that no server was chosen for so far. */
  unplaced(): readonly Unplaced[] {
    return this.planner.allUnplaced()
  }

  /** Plans a segment. Returns whether the next run must check it again. */
  private planRow(row: number, dropped: number[]): boolean {
    const { table, planner } = this
    const group = table.groupOf[row]!
    if (group === -1) return planner.planUnused(row)
    // Overshadowed segments keep their replicas until they are marked as unused.
    if (table.hiddenOf[group] === 1) return false
    const prepared = this.preparedOf(row)
    // The group was added during this run.
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
      // A visible segment that no tier will load overshadows older ones like a served segment. An unserved version in
      // between does not, because the segments that it would overshadow may be the only ones that answer queries.
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
