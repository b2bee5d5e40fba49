import type { WantedCopies } from '../rules/index.ts'
import { CopyIndex, type LoadingServer } from './copies.ts'
import { planReplicas } from './plan-replicas.ts'
import { draftOf, fillOf, giveLoad, hasRoom, type ServerDraft } from './server-draft.ts'
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
  /** One of the segments, to look at. */
  readonly exampleSegmentId: string
}

/** A copy of a segment on a server. */
export interface PlannedCopy {
  readonly server: string
  readonly segmentId: string
}

/** What one run sets going. */
export interface Plan {
  readonly loads: readonly (PlannedCopy & { readonly sizeBytes: number })[]
  readonly drops: readonly PlannedCopy[]
  /** Loads of earlier runs that are needed no more. A load that cannot be stopped is dropped by a later run. */
  readonly cancelledLoads: readonly PlannedCopy[]
  readonly unplaced: readonly Unplaced[]
}

/** A tier that serves fewer copies of a segment than it should. */
export interface TierShortage {
  readonly tier: string
  readonly required: number
  readonly served: number
}

/** What planning needs to know of a segment. */
export interface PlannableSegment {
  readonly id: string
  readonly sizeBytes: number
}

/** Decides one run: made from a snapshot, given every used segment that is not overshadowed once, then read. */
export interface Planner {
  /** Plans the copies of one segment and returns the tiers that do not serve all theirs yet. */
  readonly planSegment: (segment: PlannableSegment, wanted: WantedCopies) => readonly TierShortage[]
  readonly result: () => Plan
}

/** The copies of one segment in one tier; only historicals have tiers. */
interface TierCopies {
  readonly served: ServerDraft[]
  readonly loading: ServerDraft[]
  /** Copies on servers that are being emptied. */
  readonly leaving: ServerDraft[]
}

/** Everywhere a segment is or will be. */
interface Copies {
  readonly tiers: Map<string, TierCopies>
  readonly brokers: { readonly served: ServerDraft[]; readonly loading: ServerDraft[] }
  /** Loads queued at servers that are being emptied. */
  readonly leavingLoads: ServerDraft[]
  /** Servers that hold, load or drop it: none of them can be given another copy. */
  readonly taken: Set<ServerDraft>
}

interface Tier {
  readonly name: string
  /** Historicals that stay. */
  readonly active: readonly ServerDraft[]
  readonly assignable: ServersByFill
  furtherCopies: number
}

const namesNoTier: ReadonlyMap<string, number> = new Map()

function tierOf(copies: Copies, name: string): TierCopies {
  let tier = copies.tiers.get(name)
  if (tier === undefined) {
    tier = { served: [], loading: [], leaving: [] }
    copies.tiers.set(name, tier)
  }
  return tier
}

const isActive = ({ server }: ServerDraft): boolean => !server.decommissioning

const canHoldSegments = ({ server }: ServerDraft): boolean => server.maxSizeBytes > 0

const fullestFirst = (a: ServerDraft, b: ServerDraft): number => {
  const [first, second] = [fillOf(a), fillOf(b)]
  if (first !== second) return first > second ? -1 : 1
  return a.server.name > b.server.name ? -1 : 1
}

const fullest = (drafts: readonly ServerDraft[], count: number): readonly ServerDraft[] =>
  count === 0 ? [] : drafts.toSorted(fullestFirst).slice(0, count)

class RunPlanner implements Planner {
  private readonly limits: PlanLimits
  private readonly drafts: readonly ServerDraft[]
  private readonly brokers: readonly ServerDraft[]
  private readonly copyIndex: CopyIndex
  private readonly tiers: ReadonlyMap<string, Tier>
  private readonly loads: (PlannedCopy & { readonly sizeBytes: number })[] = []
  private readonly drops: PlannedCopy[] = []
  private readonly cancelledLoads: PlannedCopy[] = []
  private readonly unplaced = new Map<string, { -readonly [Key in keyof Unplaced]: Unplaced[Key] }>()

  constructor(servers: readonly LoadingServer[], limits: PlanLimits) {
    this.limits = limits
    this.drafts = servers.map(draftOf)
    this.brokers = this.drafts.filter(
      (draft) => draft.server.type === 'broker' && isActive(draft) && canHoldSegments(draft),
    )
    this.copyIndex = new CopyIndex(servers)
    this.tiers = this.tiersOf(this.drafts.filter(({ server }) => server.type === 'historical'))
  }

  private tiersOf(historicals: readonly ServerDraft[]): Map<string, Tier> {
    return new Map(
      [...Map.groupBy(historicals, ({ server }) => server.tier)].map(([name, members]) => {
        const active = members.filter(isActive)
        const assignable = new ServersByFill(active, this.limits.maxLoadsPerServer)
        return [name, { name, active, assignable, furtherCopies: 0 }]
      }),
    )
  }

  planSegment = (segment: PlannableSegment, wanted: WantedCopies): readonly TierShortage[] => {
    const copies = this.findCopies(segment.id)
    switch (wanted.action) {
      case 'load':
        return this.planLoad(segment, wanted.tieredReplicants, copies)
      case 'broadcast':
        return this.planBroadcast(segment, copies)
      case 'drop':
        this.dropUnnamed(segment.id, copies, namesNoTier, true)
        this.drop(segment.id, copies.brokers.served)
        this.cancel(segment.id, [...copies.brokers.loading, ...copies.leavingLoads])
        return []
    }
  }

  result = (): Plan => ({
    loads: this.loads,
    drops: this.drops,
    cancelledLoads: this.cancelledLoads,
    unplaced: [...this.unplaced.values()],
  })

  private findCopies(segmentId: string): Copies {
    const copies: Copies = {
      tiers: new Map(),
      brokers: { served: [], loading: [] },
      leavingLoads: [],
      taken: new Set(),
    }
    this.copyIndex.forEach(segmentId, (serverIndex, state) => {
      const draft = this.drafts[serverIndex]!
      copies.taken.add(draft)
      if (state === 'dropping') return
      if (draft.server.type === 'broker') {
        copies.brokers[state].push(draft)
        return
      }
      if (!isActive(draft) && state === 'loading') {
        copies.leavingLoads.push(draft)
        return
      }
      const tier = tierOf(copies, draft.server.tier)
      tier[isActive(draft) ? state : 'leaving'].push(draft)
    })
    return copies
  }

  /**
   * Brings every named tier to its copies. What lies in tiers that are not named goes only when all named ones serve
   * theirs; a tier without servers wants nothing and so holds nothing up. Brokers keep what a broadcast rule gave them.
   */
  private planLoad(
    segment: PlannableSegment,
    tieredReplicants: ReadonlyMap<string, number>,
    copies: Copies,
  ): readonly TierShortage[] {
    const named = [...tieredReplicants].flatMap(([name, count]) => {
      const tier = this.tiers.get(name)
      // Servers that are all being emptied have nowhere to give their copies: the tier keeps what it has.
      if (tier === undefined || tier.active.length === 0) return []
      return [{ tier, required: Math.min(count, tier.active.length), has: tierOf(copies, name) }]
    })
    let surplus = 0
    for (const { served, leaving } of copies.tiers.values()) surplus += served.length + leaving.length
    const shortages: TierShortage[] = []
    for (const { tier, required, has } of named) {
      surplus -= required
      if (has.served.length < required) {
        shortages.push({ tier: tier.name, required, served: has.served.length })
      } else {
        // The others of the tier serve enough by themselves.
        this.drop(segment.id, has.leaving)
        surplus -= has.leaving.length
      }
    }
    for (const { tier, required, has } of named) {
      const change = planReplicas(
        { served: has.served.length, loading: has.loading.length },
        required,
        surplus,
      )
      const first = has.served.length + has.loading.length + has.leaving.length === 0
      this.loadInTier(segment, tier, change.loads, first, copies.taken)
      this.cancel(segment.id, fullest(has.loading, change.cancelledLoads))
      this.drop(segment.id, fullest(has.served, change.drops))
      surplus -= change.drops
    }
    this.cancel(segment.id, copies.leavingLoads)
    this.dropUnnamed(segment.id, copies, tieredReplicants, shortages.length === 0)
    return shortages
  }

  private dropUnnamed(
    segmentId: string,
    copies: Copies,
    tieredReplicants: ReadonlyMap<string, number>,
    namedAreServed: boolean,
  ): void {
    for (const [name, { served, loading, leaving }] of copies.tiers) {
      if (tieredReplicants.has(name)) continue
      this.cancel(segmentId, loading)
      if (namedAreServed) this.drop(segmentId, [...served, ...leaving])
    }
  }

  private loadInTier(
    segment: PlannableSegment,
    tier: Tier,
    copiesWanted: number,
    first: boolean,
    taken: Set<ServerDraft>,
  ): void {
    for (let planned = 0; planned < copiesWanted; planned += 1) {
      const isFurther = !first || planned > 0
      const missing = copiesWanted - planned
      if (isFurther && tier.furtherCopies >= this.limits.replicationThrottleLimit) {
        this.noteUnplaced(segment.id, tier.name, 'replicationThrottled', missing)
        return
      }
      const draft = tier.assignable.assign(segment.sizeBytes, (candidate) => !taken.has(candidate))
      if (draft === undefined) {
        const reason = tier.assignable.someQueueFull ? 'queueFull' : 'noRoom'
        this.noteUnplaced(segment.id, tier.name, reason, missing)
        return
      }
      taken.add(draft)
      if (isFurther) tier.furtherCopies += 1
      this.load(segment, draft)
    }
  }

  /** One copy on every historical and every broker that has room for segments at all. */
  private planBroadcast(segment: PlannableSegment, copies: Copies): readonly TierShortage[] {
    const shortages: TierShortage[] = []
    let servedAnywhere = 0
    for (const { name, active, assignable } of this.tiers.values()) {
      const able = active.filter(canHoldSegments)
      const { served } = tierOf(copies, name)
      servedAnywhere += served.length
      if (served.length < able.length)
        shortages.push({ tier: name, required: able.length, served: served.length })
      if (this.loadOnEach(segment, able, copies.taken)) assignable.noteGivenElsewhere()
    }
    this.loadOnEach(segment, this.brokers, copies.taken)
    this.cancel(segment.id, copies.leavingLoads)
    if (servedAnywhere > 0) for (const { leaving } of copies.tiers.values()) this.drop(segment.id, leaving)
    return shortages
  }

  private loadOnEach(
    segment: PlannableSegment,
    drafts: readonly ServerDraft[],
    taken: ReadonlySet<ServerDraft>,
  ): boolean {
    let anyLoad = false
    for (const draft of drafts) {
      if (taken.has(draft)) continue
      if (draft.queuedLoads >= this.limits.maxLoadsPerServer) {
        this.noteUnplaced(segment.id, draft.server.tier, 'queueFull', 1)
      } else if (!hasRoom(draft, segment.sizeBytes)) {
        this.noteUnplaced(segment.id, draft.server.tier, 'noRoom', 1)
      } else {
        giveLoad(draft, segment.sizeBytes)
        this.load(segment, draft)
        anyLoad = true
      }
    }
    return anyLoad
  }

  private load(segment: PlannableSegment, draft: ServerDraft): void {
    this.loads.push({ server: draft.server.name, segmentId: segment.id, sizeBytes: segment.sizeBytes })
  }

  private drop(segmentId: string, drafts: readonly ServerDraft[]): void {
    for (const { server } of drafts) this.drops.push({ server: server.name, segmentId })
  }

  private cancel(segmentId: string, drafts: readonly ServerDraft[]): void {
    for (const { server } of drafts) this.cancelledLoads.push({ server: server.name, segmentId })
  }

  private noteUnplaced(segmentId: string, tier: string, reason: UnplacedReason, copies: number): void {
    const key = `${reason}/${tier}`
    const noted = this.unplaced.get(key)
    if (noted === undefined) this.unplaced.set(key, { tier, reason, copies, exampleSegmentId: segmentId })
    else noted.copies += copies
  }
}

/**
 * A planner for one run over the servers as they are. It may be given segments in any order, each once: earlier ones
 * are placed first where limits or room run out.
 */
export function createPlanner(servers: readonly LoadingServer[], limits: PlanLimits): Planner {
  return new RunPlanner(servers, limits)
}
