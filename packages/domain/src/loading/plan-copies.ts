import { copyFlag, type SegmentTable } from '../inventory/index.ts'
import type { WantedCopies } from '../rules/index.ts'
import type { MoveList, MovePlanner } from './plan-moves.ts'
import { planReplicas } from './replica-change.ts'
import { draftOf, giveLoad, hasRoom, type LoadingServer, type ServerDraft } from './server-draft.ts'
import { ServersByFill } from './servers-by-fill.ts'

/** How much one run may set going. */
export interface PlanLimits {
  /** Loads that may wait at one server, those queued before this run included. */
  readonly maxLoadsPerServer: number
  /** Copies beyond the first of a segment in a tier that one run assigns, for each tier. */
  readonly replicationThrottleLimit: number
}

/** Why a wanted copy was given to no server in this run. */
export type UnplacedReason =
  /** Every server that could take it has its queue full. */
  | 'queueFull'
  /** The tier had its share of further copies for this run. */
  | 'replicationThrottled'
  /** No server that does not hold the segment, and is not just dropping it, has room. */
  | 'noRoom'

/** Wanted copies of one tier that a run could not place for one reason. */
export interface Unplaced {
  readonly tier: string
  readonly reason: UnplacedReason
  readonly copies: number
  /** The row of one of the segments, to look at. */
  readonly exampleRow: number
}

/** Copies of segments on servers, as two lists side by side: rows and server numbers of the segment table. */
export interface CopyList {
  readonly rows: number[]
  readonly servers: number[]
}

/** What is set going. */
export interface Plan {
  readonly loads: CopyList
  readonly drops: CopyList
  /** Loads of earlier runs that are needed no more. A load that cannot be stopped is dropped by a later run. */
  readonly cancelledLoads: CopyList
}

/** What a rule wants, made ready for many segments: what follows from the servers of the run is worked out. */
export interface PreparedWanted {
  readonly wanted: WantedCopies
  /** The same text as long as the same copies bring it about, whatever becomes of the servers. */
  readonly key: string
  /** Whether it is to be loaded on none of the tiers that there are. */
  readonly wantsNoCopy: boolean
  /** Tiers that have no server, with the copies wanted there. */
  readonly tiersWithoutServers: readonly (readonly [tier: string, copies: number])[]
  /** Tiers that can be given copies, with the number that each is to have. */
  readonly required: readonly { readonly tier: Tier; readonly required: number }[]
  /** By the place of a tier, 1 where the rule names it. */
  readonly isNamed: Uint8Array
}

/** The historicals of one tier. */
interface Tier {
  readonly place: number
  readonly name: string
  /** Those that stay. */
  readonly active: readonly ServerDraft[]
  readonly assignable: ServersByFill
  furtherCopies: number
  // The copies of the segment that is being planned.
  readonly served: ServerDraft[]
  readonly loading: ServerDraft[]
  /** Copies on servers that are being emptied. */
  readonly leaving: ServerDraft[]
}

/** Whether it is a copy, or will be one: not one that goes, nor one that will only take the place of another. */
const countsAsCopy = (flags: number): boolean =>
  (flags & copyFlag.served) !== 0
    ? (flags & copyFlag.dropping) === 0
    : (flags & (copyFlag.loading | copyFlag.moving)) === copyFlag.loading

const canHoldSegments = ({ server }: ServerDraft): boolean => server.maxSizeBytes > 0

const fullestFirst = (a: ServerDraft, b: ServerDraft): number => {
  // Equal numbers but for those that are to give up the segment that is being planned.
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

const noCopies = (): CopyList => ({ rows: [], servers: [] })

/**
 * Decides where copies go in one run: made from the servers as they are, then given segments in any order, each once;
 * earlier ones are placed first where limits or room run out.
 */
export class CopyPlanner {
  private readonly table: SegmentTable
  private readonly limits: PlanLimits
  private readonly drafts: (ServerDraft | undefined)[] = []
  private readonly preparedFor = new Map<WantedCopies, PreparedWanted>()
  private readonly brokers: readonly ServerDraft[]
  private readonly tiers: readonly Tier[]
  private readonly tiersByName: ReadonlyMap<string, Tier>
  private plan: Plan = { loads: noCopies(), drops: noCopies(), cancelledLoads: noCopies() }
  private readonly unplaced = new Map<string, { -readonly [Key in keyof Unplaced]: Unplaced[Key] }>()
  private turn = 0
  private emitted = 0

  // The copies of the segment that is being planned, beside those of the tiers.
  private readonly brokersServing: ServerDraft[] = []
  private readonly brokersLoading: ServerDraft[] = []
  /** Loads queued at servers that are being emptied. */
  private readonly leavingLoads: ServerDraft[] = []

  constructor(table: SegmentTable, servers: readonly LoadingServer[], limits: PlanLimits) {
    this.table = table
    this.limits = limits
    const historicals = servers.filter(({ type }) => type === 'historical')
    this.tiers = [...Map.groupBy(historicals, ({ tier }) => tier)].map(([name, members], place) => {
      const drafts = members.map((server) => this.addDraft(server, place))
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

  /** Makes what a rule wants ready for this run, once for all datasources. */
  prepare(wanted: WantedCopies): PreparedWanted {
    let prepared = this.preparedFor.get(wanted)
    if (prepared === undefined) {
      prepared = this.prepareAnew(wanted)
      this.preparedFor.set(wanted, prepared)
    }
    return prepared
  }

  private prepareAnew(wanted: WantedCopies): PreparedWanted {
    const isNamed = new Uint8Array(this.tiers.length)
    const nothing = { wanted, wantsNoCopy: false, tiersWithoutServers: [], required: [], isNamed }
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
    const named = [...wanted.tieredReplicants].map(([name, count]) => ({
      name,
      count,
      tier: this.tiersByName.get(name),
    }))
    for (const { tier } of named) if (tier) isNamed[tier.place] = 1
    const required = named.flatMap(({ tier, count }) =>
      // Servers that are all being emptied have nowhere to give their copies: the tier keeps what it has.
      tier === undefined || tier.active.length === 0
        ? []
        : [{ tier, required: Math.min(count, tier.active.length) }],
    )
    return {
      wanted,
      key: JSON.stringify([
        'load',
        named.map(({ name, tier }) => [name, tier !== undefined]),
        required.map((one) => [one.tier.name, one.required]),
      ]),
      wantsNoCopy: named.every(({ tier }) => tier === undefined),
      tiersWithoutServers: named.flatMap(({ name, count, tier }) => (tier ? [] : [[name, count] as const])),
      required,
      isNamed,
    }
  }

  /**
   * Plans the copies of one used segment. Returns whether it has to be looked at again although nothing about it
   * changes: something was set going, or could not be.
   */
  planSegment(row: number, prepared: PreparedWanted): boolean {
    if (prepared.wanted.action === 'load' && this.isSettled(row, prepared)) return false
    const before = this.emitted
    this.findCopies(row)
    switch (prepared.wanted.action) {
      case 'load':
        this.planLoad(row, prepared)
        break
      case 'broadcast':
        this.planBroadcast(row)
        break
      case 'drop':
        this.dropUnnamed(row, prepared, true)
        this.drop(row, this.brokersServing)
        this.cancel(row, this.brokersLoading)
        this.cancel(row, this.leavingLoads)
        break
    }
    return this.emitted !== before
  }

  /** Asks every server that serves a segment which is not used to drop it; returns whether there is one. */
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

  /** The moves of this run, after everything else has been planned; `planner` keeps where the last one stopped. */
  planMoves(
    planner: MovePlanner,
    maxSegmentsToMove: number,
    preparedOf: (row: number) => PreparedWanted | undefined,
  ): MoveList {
    return planner.plan(
      this.drafts,
      { maxSegmentsToMove, maxLoadsPerServer: this.limits.maxLoadsPerServer },
      (row) => {
        const prepared = preparedOf(row)
        return prepared?.wanted.action === 'load' && this.isSettled(row, prepared)
      },
    )
  }

  /** What was planned since this was asked for last. */
  take(): Plan {
    const { plan } = this
    this.plan = { loads: noCopies(), drops: noCopies(), cancelledLoads: noCopies() }
    return plan
  }

  /** The wanted copies that were given to no server so far. */
  allUnplaced(): readonly Unplaced[] {
    return [...this.unplaced.values()]
  }

  /**
   * Whether every tier that the rule names has or loads its copies and no other has any. Most segments of most runs
   * are: this only counts.
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
    // With one tier the sum says it all.
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
      served.length = 0
      loading.length = 0
      leaving.length = 0
    }
    this.brokersServing.length = 0
    this.brokersLoading.length = 0
    this.leavingLoads.length = 0
    const { firstOf, nextOf, serverOf, flagsOf } = this.table.copies
    for (let entry = firstOf[row]!; entry >= 0; entry = nextOf[entry]!) {
      const draft = this.drafts[serverOf[entry]!]
      if (draft === undefined) continue
      draft.takenFor = this.turn
      const flags = flagsOf[entry]!
      if ((flags & copyFlag.leaving) !== 0) draft.leavingFor = this.turn
      const serves = (flags & copyFlag.served) !== 0
      // Copies that are being dropped count no more.
      if (!countsAsCopy(flags)) continue
      const tier = this.tiers[draft.tier]
      if (tier === undefined) (serves ? this.brokersServing : this.brokersLoading).push(draft)
      else if (draft.active) (serves ? tier.served : tier.loading).push(draft)
      else (serves ? tier.leaving : this.leavingLoads).push(draft)
    }
  }

  /**
   * Brings every named tier to its copies. What lies in tiers that are not named goes only when all named ones serve
   * theirs; a tier without servers wants nothing and so holds nothing up. Brokers keep what a broadcast rule gave them.
   */
  private planLoad(row: number, prepared: PreparedWanted): void {
    let surplus = 0
    for (const { served, leaving } of this.tiers) surplus += served.length + leaving.length
    let isServed = true
    for (const { tier, required } of prepared.required) {
      surplus -= required
      if (tier.served.length < required) {
        isServed = false
      } else {
        // The others of the tier serve enough by themselves.
        this.drop(row, tier.leaving)
        surplus -= tier.leaving.length
      }
    }
    for (const { tier, required } of prepared.required) {
      const { served, loading, leaving } = tier
      const change = planReplicas({ served: served.length, loading: loading.length }, required, surplus)
      const first = served.length + loading.length + leaving.length === 0
      this.loadInTier(row, tier, change.loads, first)
      this.cancel(row, fullest(loading, change.cancelledLoads))
      this.drop(row, fullest(served, change.drops))
      surplus -= change.drops
    }
    this.cancel(row, this.leavingLoads)
    this.dropUnnamed(row, prepared, isServed)
  }

  private dropUnnamed(row: number, { isNamed }: PreparedWanted, namedAreServed: boolean): void {
    for (const { place, served, loading, leaving } of this.tiers) {
      if (isNamed[place] === 1) continue
      this.cancel(row, loading)
      if (!namedAreServed) continue
      this.drop(row, served)
      this.drop(row, leaving)
    }
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
        this.noteUnplaced(row, tier.name, tier.assignable.someQueueFull ? 'queueFull' : 'noRoom', missing)
        return
      }
      draft.takenFor = this.turn
      if (isFurther) tier.furtherCopies += 1
      this.load(row, draft)
    }
  }

  /** One copy on every historical and every broker that has room for segments at all. */
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
      if (draft.takenFor === this.turn) continue
      if (draft.queuedLoads >= this.limits.maxLoadsPerServer) {
        this.noteUnplaced(row, draft.server.tier, 'queueFull', 1)
      } else if (!hasRoom(draft, sizeBytes)) {
        this.noteUnplaced(row, draft.server.tier, 'noRoom', 1)
      } else {
        giveLoad(draft, sizeBytes)
        this.load(row, draft)
        anyLoad = true
      }
    }
    return anyLoad
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
    const key = `${reason}/${tier}`
    const noted = this.unplaced.get(key)
    if (noted === undefined) this.unplaced.set(key, { tier, reason, copies, exampleRow: row })
    else noted.copies += copies
  }
}
