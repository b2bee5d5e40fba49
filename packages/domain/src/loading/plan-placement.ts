import { copyFlag, type SegmentTable } from '../inventory/index.ts'
import type { WantedCopies } from '../rules/index.ts'
import type { MoveList, MovePlanner } from './plan-moves.ts'
import { planReplicas } from './replica-change.ts'
import { addLoad, draftOf, hasRoom, type LoadingServer, type ServerDraft } from './server-draft.ts'
import { ServersByFill } from './servers-by-fill.ts'
import { inDruidOrder } from './tier-order.ts'

/** Limits of one run. */
export interface PlanLimits {
  /** Maximum number of queued loads per server, including those queued before this run. */
  readonly maxLoadsPerServer: number
  /** Maximum number of replicas that one run assigns per tier, not counting the first replica of a segment in the tier. */
  readonly replicationThrottleLimit: number
}

/** Why this run did not assign a required replica to a server. */
export type UnplacedReason =
  /** The load queues of all suitable servers are full. */
  | 'queueFull'
  /** The tier reached its replication throttle limit for this run. */
  | 'replicationThrottled'
  /** A server with enough room failed to load the segment, and may not be requested again yet. */
  | 'loadFailed'
  /** A server with enough room must finish dropping the segment before it can load it. */
  | 'beingDropped'
  /** No server that could load the segment has enough room. */
  | 'noRoom'

/** Required replicas of a tier that a run could not assign, by reason. */
export interface Unplaced {
  readonly tier: string
  readonly reason: UnplacedReason
  readonly copies: number
  /** The row of one of the segments, as an example. */
  readonly exampleRow: number
  /** Size of the smallest of the segments. */
  readonly minSizeBytes: number
  /** The same for each datasource with such segments, by number. */
  readonly ofDatasources: ReadonlyMap<number, Pick<Unplaced, 'copies' | 'minSizeBytes'>>
}

/** Required replicas of a tier that a run could not assign, by reason. Counted by datasource, because there may be millions. */
interface UnplacedTally extends Pick<Unplaced, 'tier' | 'reason' | 'exampleRow'> {
  /** By number of the datasource. */
  readonly counts: { copies: number; minSizeBytes: number }[]
}

/** Replicas of segments on servers, as two parallel lists of row and server numbers of the segment table. */
export interface CopyList {
  readonly rows: number[]
  readonly servers: number[]
}

/** The loads, drops, and cancellations of a run. */
export interface Plan {
  readonly loads: CopyList
  readonly drops: CopyList
  /**
   * Loads of earlier runs that are no longer needed. If a load can no longer be canceled, a later run drops the
   * replica.
   */
  readonly cancelledLoads: CopyList
}

/** What a rule requires, resolved against the servers of this run. Prepared once and used for many segments. */
export interface PreparedWanted {
  readonly wanted: WantedCopies
  /** Key that changes only if the resolved requirements change, not with other changes to the servers. */
  readonly key: string
  /** Whether the rule requires replicas on none of the existing tiers. */
  readonly wantsNoCopy: boolean
  /** Tiers without servers, with the number of replicas that the rule requires there. */
  readonly tiersWithoutServers: readonly (readonly [tier: string, copies: number])[]
  /** Tiers with fewer servers than replicas, with the number of replicas that no server can load. */
  readonly tiersWithTooFewServers: readonly (readonly [tier: string, copies: number])[]
  /** Tiers whose servers are all decommissioning, with the number of replicas that the rule requires there. */
  readonly tiersWithoutActiveServers: readonly (readonly [tier: string, copies: number])[]
  /** Tiers that can load replicas, in order, with the number that each should have. */
  readonly required: readonly { readonly tier: Tier; readonly required: number }[]
  /** For each tier by index: 1 if the rule names it. */
  readonly isNamed: Uint8Array
}

/** The historicals of one tier. */
interface Tier {
  readonly place: number
  readonly name: string
  /** Servers that are not decommissioning. */
  readonly active: readonly ServerDraft[]
  readonly assignable: ServersByFill
  furtherCopies: number
  // Replicas of the segment that is being planned.
  readonly served: ServerDraft[]
  readonly loading: ServerDraft[]
  /** Replicas on decommissioning servers. */
  readonly leaving: ServerDraft[]
}

/** Whether it counts as a replica: served and not being dropped, or being loaded other than by a move. */
const countsAsCopy = (flags: number): boolean =>
  (flags & copyFlag.served) !== 0
    ? (flags & copyFlag.dropping) === 0
    : (flags & (copyFlag.loading | copyFlag.moving)) === copyFlag.loading

/** Whether the server failed to load the segment and may not be requested again yet. */
const isRefused = (flags: number): boolean =>
  (flags & (copyFlag.refused | copyFlag.served | copyFlag.loading | copyFlag.dropping)) === copyFlag.refused

const canHoldSegments = ({ server }: ServerDraft): boolean => server.maxSizeBytes > 0

const fullestFirst = (a: ServerDraft, b: ServerDraft): number => {
  // First the servers from which the segment that is being planned is moved away.
  if (
    a.leavingFor !== b.leavingFor &&
    Math.max(a.leavingFor, b.leavingFor) === Math.max(a.takenFor, b.takenFor)
  )
    return a.leavingFor > b.leavingFor ? -1 : 1
  if (a.fill !== b.fill) return a.fill > b.fill ? -1 : 1
  return a.server.name > b.server.name ? -1 : 1
}

const fullest = (drafts: readonly ServerDraft[], count: number): readonly ServerDraft[] =>
  count === 0 ? [] : drafts.toSorted(fullestFirst).slice(0, count)

/** Removes all members one by one: setting the length to 0 would free the memory, which the next segment would need again. */
function clear(drafts: ServerDraft[]): void {
  while (drafts.length > 0) drafts.pop()
}

const noCopies = (): CopyList => ({ rows: [], servers: [] })

/**
 * Decides where replicas go in one run. Create it from the current servers, then pass each segment once, in any order.
 * If limits or space run out, earlier segments take precedence.
 */
export class PlacementPlanner {
  private readonly table: SegmentTable
  private readonly limits: PlanLimits
  private readonly onUnplaced: (row: number, tier: string, reason: UnplacedReason, copies: number) => void
  private readonly drafts: (ServerDraft | undefined)[] = []
  private readonly preparedFor = new Map<WantedCopies, PreparedWanted>()
  private readonly brokers: readonly ServerDraft[]
  private readonly tiers: readonly Tier[]
  private readonly tiersByName: ReadonlyMap<string, Tier>
  private plan: Plan = { loads: noCopies(), drops: noCopies(), cancelledLoads: noCopies() }
  private readonly unplaced = new Map<UnplacedReason, Map<string, UnplacedTally>>()
  private turn = 0
  private emitted = 0

  // Replicas of the segment that is being planned, apart from those of the tiers.
  private readonly brokersServing: ServerDraft[] = []
  private readonly brokersLoading: ServerDraft[] = []
  /** Loads queued on decommissioning servers. */
  private readonly leavingLoads: ServerDraft[] = []

  /** Calls `onUnplaced` for each segment, given by row, with replicas that could not be assigned. */
  constructor(
    table: SegmentTable,
    servers: readonly LoadingServer[],
    limits: PlanLimits,
    onUnplaced: (row: number, tier: string, reason: UnplacedReason, copies: number) => void = () => undefined,
  ) {
    this.table = table
    this.limits = limits
    this.onUnplaced = onUnplaced
    const historicals = servers.filter(({ type }) => type === 'historical')
    const byTier = Map.groupBy(historicals, ({ tier }) => tier)
    this.tiers = inDruidOrder([...byTier.keys()]).map((name, place) => {
      const drafts = byTier.get(name)!.map((server) => this.addDraft(server, place))
      const active = drafts.filter((draft) => draft.active)
      const assignable = new ServersByFill(active, limits.maxLoadsPerServer)
      return { place, name, active, assignable, furtherCopies: 0, served: [], loading: [], leaving: [] }
    })
    this.tiersByName = new Map(this.tiers.map((tier) => [tier.name, tier]))
    this.brokers = servers
      .filter(({ type }) => type === 'broker')
      .map((server) => this.addDraft(server, -1))
      .filter((draft) => !draft.server.decommissioning && canHoldSegments(draft))
  }

  private addDraft(server: LoadingServer, tier: number): ServerDraft {
    const draft = draftOf(server, tier)
    this.drafts[server.number] = draft
    return draft
  }

  /** Resolves what a rule requires against the servers of this run, once for all datasources. */
  prepare(wanted: WantedCopies): PreparedWanted {
    let prepared = this.preparedFor.get(wanted)
    if (prepared === undefined) {
      prepared = this.prepareAgain(wanted)
      this.preparedFor.set(wanted, prepared)
    }
    return prepared
  }

  private prepareAgain(wanted: WantedCopies): PreparedWanted {
    const isNamed = new Uint8Array(this.tiers.length)
    const nothing = {
      wanted,
      wantsNoCopy: false,
      tiersWithoutServers: [],
      tiersWithTooFewServers: [],
      tiersWithoutActiveServers: [],
      required: [],
      isNamed,
    }
    if (wanted.action === 'drop') return { ...nothing, key: 'drop' }
    if (wanted.action === 'broadcast') {
      const able = this.tiers.map(({ active }) =>
        active.filter(canHoldSegments).map(({ server }) => server.name),
      )
      return {
        ...nothing,
        key: JSON.stringify(['broadcast', able, this.brokers.map(({ server }) => server.name)]),
      }
    }
    // A rule may name thousands of tiers without servers, which affect no decision.
    const tiersWithoutServers: (readonly [tier: string, copies: number])[] = []
    const tiersWithTooFewServers: (readonly [tier: string, copies: number])[] = []
    const tiersWithoutActiveServers: (readonly [tier: string, copies: number])[] = []
    const required: { readonly tier: Tier; readonly required: number }[] = []
    const named: string[] = []
    for (const [name, count] of wanted.tieredReplicants) {
      const tier = this.tiersByName.get(name)
      if (tier === undefined) {
        tiersWithoutServers.push([name, count])
        continue
      }
      isNamed[tier.place] = 1
      named.push(name)
      // If all servers of a tier are decommissioning, the tier keeps its replicas.
      if (tier.active.length === 0) {
        tiersWithoutActiveServers.push([name, count])
        continue
      }
      required.push({ tier, required: Math.min(count, tier.active.length) })
      if (count > tier.active.length) tiersWithTooFewServers.push([name, count - tier.active.length])
    }
    return {
      wanted,
      key: JSON.stringify(['load', named, required.map((one) => [one.tier.name, one.required])]),
      wantsNoCopy: named.length === 0,
      tiersWithoutServers,
      tiersWithTooFewServers,
      tiersWithoutActiveServers,
      required: required.sort((a, b) => a.tier.place - b.tier.place),
      isNamed,
    }
  }

  /**
   * Plans the replicas of one used segment. Returns true if the segment must be checked again even if it does not
   * change, because something was planned or could not be planned.
   */
  planSegment(row: number, prepared: PreparedWanted): boolean {
    if (!this.mayChange(row, prepared)) return false
    const before = this.emitted
    this.findCopies(row)
    switch (prepared.wanted.action) {
      case 'load': {
        const drops = this.plan.drops.rows.length
        this.planLoad(row, prepared)
        this.freeSpace(row, drops)
        break
      }
      case 'broadcast':
        this.planBroadcast(row)
        break
      case 'drop':
        for (const tier of this.tiers) this.dropUnnamed(row, tier, Infinity)
        this.drop(row, this.brokersServing)
        this.cancel(row, this.brokersLoading)
        this.cancel(row, this.leavingLoads)
        break
    }
    return this.emitted !== before
  }

  /** Returns whether planning a used segment may have a result. */
  mayChange(row: number, prepared: PreparedWanted): boolean {
    return prepared.wanted.action !== 'load' || !this.isSettled(row, prepared)
  }

  /** Returns whether this run has made space in a tier in which a rule requires replicas. */
  hasFreedSpace({ wanted, required }: PreparedWanted): boolean {
    if (wanted.action === 'broadcast') return this.tiers.some(({ assignable }) => assignable.hasFreedSpace)
    return required.some(({ tier }) => tier.assignable.hasFreedSpace)
  }

  /** Returns whether a tier in which a load rule requires replicas may still have room for a segment of this size. */
  mayHaveRoom({ required }: PreparedWanted, sizeBytes: number): boolean {
    return required.some(({ tier }) => tier.assignable.mayHaveRoom(sizeBytes))
  }

  /** Plans drops for all servers that serve an unused segment. Returns whether there is one. */
  planUnused(row: number): boolean {
    const { copies } = this.table
    const before = this.emitted
    for (let entry = copies.firstOf[row]!; entry >= 0; entry = copies.nextOf[entry]!) {
      if ((copies.flagsOf[entry]! & (copyFlag.served | copyFlag.dropping)) !== copyFlag.served) continue
      const draft = this.drafts[copies.serverOf[entry]!]
      if (draft) this.drop(row, [draft])
    }
    return this.emitted !== before
  }

  /**
   * Plans the moves of this run, after everything else has been planned. `planner` remembers where the last run
   * stopped. Pauses after each list of moves, which may be empty.
   */
  planMoves(
    planner: MovePlanner,
    maxSegmentsToMove: number,
    preparedOf: (row: number) => PreparedWanted | undefined,
  ): Generator<MoveList, MoveList> {
    return planner.plan(
      this.drafts,
      { maxSegmentsToMove, maxLoadsPerServer: this.limits.maxLoadsPerServer },
      (row) => {
        const prepared = preparedOf(row)
        return prepared?.wanted.action === 'load' && this.isSettled(row, prepared)
      },
    )
  }

  /** Returns what was planned since the last call. */
  take(): Plan {
    const { plan } = this
    this.plan = { loads: noCopies(), drops: noCopies(), cancelledLoads: noCopies() }
    return plan
  }

  /** Returns the required replicas that could not be assigned so far. */
  allUnplaced(): readonly Unplaced[] {
    return [...this.unplaced.values()].flatMap((tallies) =>
      [...tallies.values()].map(({ counts, ...unplaced }) => {
        const ofDatasources = new Map<number, { copies: number; minSizeBytes: number }>()
        let copies = 0
        let minSizeBytes = Infinity
        counts.forEach((count, datasource) => {
          ofDatasources.set(datasource, count)
          copies += count.copies
          minSizeBytes = Math.min(minSizeBytes, count.minSizeBytes)
        })
        return { ...unplaced, copies, minSizeBytes, ofDatasources }
      }),
    )
  }

  /**
   * Whether every tier that the rule names has or loads its replicas and no other tier has any. That is true for most
   * segments in most runs, so this check only counts.
   */
  private isSettled(row: number, { required, isNamed }: PreparedWanted): boolean {
    const { firstOf, nextOf, serverOf, flagsOf } = this.table.copies
    let counted = 0
    for (let entry = firstOf[row]!; entry >= 0; entry = nextOf[entry]!) {
      const draft = this.drafts[serverOf[entry]!]
      if (draft === undefined || draft.tier < 0) continue
      if (!countsAsCopy(flagsOf[entry]!)) continue
      if (!draft.active || isNamed[draft.tier] === 0) return false
      counted += 1
    }
    let wanted = 0
    for (const { required: copies } of required) wanted += copies
    if (counted !== wanted) return false
    // With one tier, comparing the sums is enough.
    return required.length < 2 || this.isSpread(row, required)
  }

  private isSpread(row: number, required: PreparedWanted['required']): boolean {
    const { firstOf, nextOf, serverOf, flagsOf } = this.table.copies
    for (const { tier, required: copies } of required) {
      let counted = 0
      for (let entry = firstOf[row]!; entry >= 0; entry = nextOf[entry]!) {
        if (this.drafts[serverOf[entry]!]?.tier !== tier.place) continue
        if (countsAsCopy(flagsOf[entry]!)) counted += 1
      }
      if (counted !== copies) return false
    }
    return true
  }

  private findCopies(row: number): void {
    this.turn += 1
    for (const { served, loading, leaving } of this.tiers) {
      clear(served)
      clear(loading)
      clear(leaving)
    }
    clear(this.brokersServing)
    clear(this.brokersLoading)
    clear(this.leavingLoads)
    const { firstOf, nextOf, serverOf, flagsOf } = this.table.copies
    for (let entry = firstOf[row]!; entry >= 0; entry = nextOf[entry]!) {
      const draft = this.drafts[serverOf[entry]!]
      if (draft === undefined) continue
      draft.takenFor = this.turn
      const flags = flagsOf[entry]!
      if ((flags & copyFlag.leaving) !== 0) draft.leavingFor = this.turn
      const serves = (flags & copyFlag.served) !== 0
      // Replicas that are being dropped do not count.
      if (!countsAsCopy(flags)) continue
      const tier = this.tiers[draft.tier]
      if (tier === undefined) (serves ? this.brokersServing : this.brokersLoading).push(draft)
      else if (draft.active) (serves ? tier.served : tier.loading).push(draft)
      else (serves ? tier.leaving : this.leavingLoads).push(draft)
    }
  }

  /**
   * Plans loads and drops so that every named tier gets its replicas. Other tiers drop their replicas only when the named
   * tiers serve as many. Tiers without servers are ignored. Brokers keep what a broadcast rule assigned to them.
   */
  private planLoad(row: number, prepared: PreparedWanted): void {
    let surplus = 0
    for (const { served, leaving } of this.tiers) surplus += served.length + leaving.length
    for (const { tier, required } of prepared.required) {
      surplus -= required
      if (tier.served.length >= required) {
        // The other servers of the tier serve enough replicas.
        this.drop(row, tier.leaving)
        surplus -= tier.leaving.length
      }
    }
    let next = 0
    for (const tier of this.tiers) {
      if (prepared.isNamed[tier.place] === 0) {
        surplus -= this.dropUnnamed(row, tier, surplus)
        continue
      }
      const named = prepared.required[next]
      // If all servers of a tier are decommissioning, the tier keeps its replicas.
      if (named?.tier !== tier) continue
      next += 1
      const { required } = named
      const { served, loading, leaving } = tier
      const change = planReplicas({ served: served.length, loading: loading.length }, required, surplus)
      const first = served.length + loading.length + leaving.length === 0
      this.loadInTier(row, tier, change.loads, first)
      this.cancel(row, fullest(loading, change.cancelledLoads))
      this.drop(row, fullest(served, change.drops))
      surplus -= change.drops
    }
    this.cancel(row, this.leavingLoads)
  }

  /**
   * Plans at most `surplus` drops in a tier that the rule does not name, on decommissioning servers first. Returns their
   * number.
   */
  private dropUnnamed(row: number, { served, loading, leaving }: Tier, surplus: number): number {
    this.cancel(row, loading)
    const count = Math.max(0, Math.min(surplus, served.length + leaving.length))
    const ofLeaving = leaving.slice(0, count)
    this.drop(row, ofLeaving)
    this.drop(row, fullest(served, count - ofLeaving.length))
    return count
  }

  private loadInTier(row: number, tier: Tier, copiesWanted: number, first: boolean): void {
    const sizeBytes = this.table.sizeOf[row]!
    for (let planned = 0; planned < copiesWanted; planned += 1) {
      const isFurther = !first || planned > 0
      const missing = copiesWanted - planned
      if (isFurther && tier.furtherCopies >= this.limits.replicationThrottleLimit) {
        this.noteUnplaced(row, tier.name, 'replicationThrottled', missing)
        return
      }
      const draft = tier.assignable.assign(sizeBytes, this.turn)
      if (draft === undefined) {
        this.noteUnplaced(row, tier.name, this.obstacleIn(row, tier), missing)
        return
      }
      draft.takenFor = this.turn
      if (isFurther) tier.furtherCopies += 1
      this.load(row, draft)
    }
  }

  /** Why no server of the tier takes a replica. */
  private obstacleIn(row: number, tier: Tier): UnplacedReason {
    if (tier.assignable.someQueueFull) return 'queueFull'
    const { firstOf, nextOf, serverOf, flagsOf } = this.table.copies
    let obstacle: UnplacedReason = 'noRoom'
    for (let entry = firstOf[row]!; entry >= 0; entry = nextOf[entry]!) {
      const draft = this.drafts[serverOf[entry]!]
      if (draft?.tier !== tier.place || !draft.active || !hasRoom(draft, this.table.sizeOf[row]!)) continue
      if (isRefused(flagsOf[entry]!)) return 'loadFailed'
      if ((flagsOf[entry]! & copyFlag.dropping) !== 0) obstacle = 'beingDropped'
    }
    return obstacle
  }

  /** Plans one replica on every historical and broker that can hold segments. */
  private planBroadcast(row: number): void {
    let servedAnywhere = 0
    for (const { active, assignable, served } of this.tiers) {
      servedAnywhere += served.length
      if (this.loadOnEach(row, active.filter(canHoldSegments))) assignable.noteGivenElsewhere()
    }
    this.loadOnEach(row, this.brokers)
    this.cancel(row, this.leavingLoads)
    if (servedAnywhere > 0) for (const { leaving } of this.tiers) this.drop(row, leaving)
  }

  private loadOnEach(row: number, drafts: readonly ServerDraft[]): boolean {
    const sizeBytes = this.table.sizeOf[row]!
    let anyLoad = false
    for (const draft of drafts) {
      if (draft.takenFor === this.turn) {
        if (isRefused(this.table.copies.flags(row, draft.server.number)))
          this.noteUnplaced(row, draft.server.tier, 'loadFailed', 1)
      } else if (draft.queuedLoads >= this.limits.maxLoadsPerServer) {
        this.noteUnplaced(row, draft.server.tier, 'queueFull', 1)
      } else if (!hasRoom(draft, sizeBytes)) {
        this.noteUnplaced(row, draft.server.tier, 'noRoom', 1)
      } else {
        addLoad(draft, sizeBytes)
        this.load(row, draft)
        anyLoad = true
      }
    }
    return anyLoad
  }

  /**
   * Makes the space of the drops after the first `from` available to the segments that follow. Drops because of a drop rule
   * are different: like in Druid, their space is available to later runs.
   */
  private freeSpace(row: number, from: number): void {
    const { servers } = this.plan.drops
    for (let at = from; at < servers.length; at += 1) {
      const draft = this.drafts[servers[at]!]!
      this.tiers[draft.tier]!.assignable.free(draft, this.table.sizeOf[row]!)
    }
  }

  private load(row: number, { server }: ServerDraft): void {
    this.emitted += 1
    this.plan.loads.rows.push(row)
    this.plan.loads.servers.push(server.number)
  }

  private drop(row: number, drafts: readonly ServerDraft[]): void {
    for (const { server } of drafts) {
      this.emitted += 1
      this.plan.drops.rows.push(row)
      this.plan.drops.servers.push(server.number)
    }
  }

  private cancel(row: number, drafts: readonly ServerDraft[]): void {
    for (const { server } of drafts) {
      this.emitted += 1
      this.plan.cancelledLoads.rows.push(row)
      this.plan.cancelledLoads.servers.push(server.number)
    }
  }

  private noteUnplaced(row: number, tier: string, reason: UnplacedReason, copies: number): void {
    this.emitted += 1
    this.onUnplaced(row, tier, reason, copies)
    let tallies = this.unplaced.get(reason)
    if (tallies === undefined) {
      tallies = new Map()
      this.unplaced.set(reason, tallies)
    }
    let tally = tallies.get(tier)
    if (tally === undefined) {
      tally = { tier, reason, exampleRow: row, counts: [] }
      tallies.set(tier, tally)
    }
    const { sizeOf, groupOf, datasourceOf } = this.table
    const datasource = datasourceOf[groupOf[row]!]!
    const sizeBytes = sizeOf[row]!
    const known = tally.counts[datasource]
    if (known === undefined) {
      tally.counts[datasource] = { copies, minSizeBytes: sizeBytes }
      return
    }
    known.copies += copies
    known.minSizeBytes = Math.min(known.minSizeBytes, sizeBytes)
  }
}
