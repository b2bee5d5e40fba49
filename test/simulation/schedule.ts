import {
  dataSources,
  days,
  instances,
  planWork,
  type ScheduledRule,
  tiers,
  type WorkStep,
} from '../faults/schedule.ts'
import { seededRandom } from '../support/random.ts'
import type { Pace } from './cluster/layout.ts'
import type { Moment } from './cluster/moments.ts'
import { type LinkState, type Random, randomOf } from './kernel/index.ts'

/** A kind of fault in a simulated cluster. */
export type SimulatedFault =
  /** The process dies after some more of its steps. With `losesPower`, its disk loses what was not synced. */
  | { readonly kind: 'kill'; readonly target: string; readonly steps: number; readonly losesPower: boolean }
  /** Nothing of the process runs. */
  | { readonly kind: 'freeze'; readonly target: string }
  /** Redis loses all data. */
  | { readonly kind: 'flush'; readonly target: 'redis' }
  | {
      readonly kind: 'link'
      readonly target: string
      /** Undefined for the connections to all other machines. */
      readonly to: string | undefined
      readonly state: Exclude<LinkState, 'sound'>
    }
  /** Some machines reach each other, but no others, except perhaps the stores. */
  | { readonly kind: 'partition'; readonly members: readonly string[]; readonly reachesStores: boolean }
  /** Statements of a server fail, some of them after they have taken effect. */
  | { readonly kind: 'failStatements'; readonly target: string; readonly probability: number }
  | { readonly kind: 'fillDisk' | 'slowDisk'; readonly target: string }
  /** Reads return wrong bytes now and then. */
  | { readonly kind: 'misread'; readonly target: string }
  /** Syncs have no effect, and the machine loses power at the end. */
  | { readonly kind: 'lieAboutSyncs'; readonly target: string }
  /** A file in the cache of a server changes while the server is down. */
  | { readonly kind: 'corrupt'; readonly target: string }
  | { readonly kind: 'moveClock'; readonly target: string; readonly byMs: number }

/** A fault with its start and duration, in milliseconds since the start of the work. */
export interface SimulatedFaultStep {
  readonly id: string
  readonly atMs: number
  readonly forMs: number
  readonly fault: SimulatedFault
  /** The fault starts only when its target does this, if it does so soon. */
  readonly moment?: Moment | undefined
  /** The fault starts only when the fault with this ID has started. */
  readonly follows?: string
  /** How long after that moment, or after the start of that fault. */
  readonly laterMs?: number
}

/** A change of the dynamic configuration. */
export interface DecommissioningStep {
  readonly atMs: number
  /** The historical whose segments move to others; undefined if none does. */
  readonly decommissioned: string | undefined
}

/** A request to cancel the newest task that has not finished. */
export interface CancellationStep {
  readonly atMs: number
}

/** Everything that happens in a run. */
export interface SimulationPlan {
  readonly seed: number
  readonly pace: Pace
  readonly work: readonly WorkStep[]
  readonly decommissioning: readonly DecommissioningStep[]
  readonly cancellations: readonly CancellationStep[]
  readonly faults: readonly SimulatedFaultStep[]
}

const services = Object.values(instances).flat()
const historicals = Object.values(tiers).flat()
const stores = ['postgres', 'redis'] as const
const workers = [...instances.overlord!, ...instances.worker!]

const quietBeginMs = 2000

/** Returns the plan of a seed: some minutes of work and faults. */
export function planSimulation(seed: number, minutes: number): SimulationPlan {
  const random = randomOf(seed, 'plan')
  const untilMs = minutes * 60_000
  const perSecond = random.pick([0.3, 0.6, 1, 2])
  const work = planWork(seededRandom(seed), minutes * 60, perSecond)
  const change = workChange(random)
  return {
    seed,
    pace: {
      coordinatorSeconds: random.pick([1, 3, 10]),
      compactionSeconds: random.pick([5, 10, 30]),
      heartbeatSeconds: random.pick([1, 2, 2]),
      latencyMs: random.pick([0.3, 1, 5]),
      deepStorageMs: random.pick([0, 10, 100, 500]),
      // The workers finish the tasks of the busiest seeds in time.
      taskSeconds: Math.min(random.pick([1, 5, 20]), 10 / perSecond),
      loadingThreads: random.pick([1, 4]),
    },
    // A simulated cluster has no logins.
    work: inBursts(
      random,
      work.filter((step) => step.work.kind !== 'setRight' && step.work.kind !== 'login').map(change),
    ),
    decommissioning: planDecommissioning(random, untilMs),
    cancellations: planCancellations(random, untilMs),
    faults: planFaults(random, untilMs),
  }
}

/** Replicas that rules require of data whose queries must always be complete: not only on the single server of a tier. */
const safeReplicas = [
  { hot: 0, _default_tier: 1 },
  { hot: 1, _default_tier: 1 },
  { hot: 0, _default_tier: 2 },
  { hot: 1, _default_tier: 2 },
] as const

/** Replicas that let segments move from one tier to the other. */
const movingReplicas = [
  { hot: 1 },
  { hot: 1, _default_tier: 0 },
  { _default_tier: 1 },
  { hot: 0, _default_tier: 1 },
  { _default_tier: 2 },
  { hot: 1, _default_tier: 1 },
] as const

const alwaysComplete: readonly string[] = [...dataSources.appended, dataSources.stable]

/** Returns how the work of a seed differs from that of the fault tests. */
function workChange(random: Random): (step: WorkStep) => WorkStep {
  const moves = random.isTrue(0.7)
  const { appended, marked, ruled, replaced } = dataSources
  const compacted: readonly string[] = random.pick([
    appended,
    [...appended, marked, ruled, replaced],
    [marked],
  ])
  // Then marks and compaction of the same days often meet.
  const marksOften = compacted.length === 1
  return (step) => {
    const { work } = step
    if (work.kind === 'query' && marksOften && random.isTrue(0.7)) {
      const day = random.pick(days)
      const used = random.isTrue(0.5)
      return { ...step, register: `${marked} ${day}`, work: { kind: 'mark', dataSource: marked, day, used } }
    }
    if (work.kind === 'setRules') {
      const replicas = moves && !alwaysComplete.includes(work.dataSource) ? movingReplicas : safeReplicas
      const rules = work.rules.map(
        (rule): ScheduledRule =>
          rule.type === 'loadForever' ? { ...rule, tieredReplicants: random.pick(replicas) } : rule,
      )
      return { ...step, work: { ...work, rules } }
    }
    if (work.kind === 'setCompaction' || work.kind === 'removeCompaction') {
      const dataSource = random.pick(compacted)
      return { ...step, register: `compaction of ${dataSource}`, work: { ...work, dataSource } }
    }
    return step
  }
}

/** Lets requests arrive together in some seeds, so that they meet what earlier ones started. */
function inBursts(random: Random, steps: readonly WorkStep[]): WorkStep[] {
  const share = random.pick([0, 0.5, 0.8])
  const withinMs = random.pick([5, 50, 500])
  let atMs = 0
  return steps.map((step) => {
    const isTogether = random.isTrue(share)
    atMs = isTogether ? Math.min(step.atMs, atMs + random.below(withinMs)) : step.atMs
    return { ...step, atMs }
  })
}

function planCancellations(random: Random, untilMs: number): CancellationStep[] {
  const pauseMs = random.pick([10_000, 60_000, untilMs])
  const steps: CancellationStep[] = []
  for (let atMs = random.below(pauseMs); atMs < untilMs; atMs += pauseMs / 2 + random.below(pauseMs))
    steps.push({ atMs })
  return steps
}

/** Plans which historical of the default tier must give its segments to others. At the end, none does. */
function planDecommissioning(random: Random, untilMs: number): DecommissioningStep[] {
  const steps: DecommissioningStep[] = []
  const pauseMs = random.pick([20_000, 60_000, untilMs])
  for (let atMs = random.below(pauseMs); atMs < untilMs; atMs += pauseMs / 2 + random.below(pauseMs))
    steps.push({ atMs, decommissioned: random.pick([...tiers._default_tier!, undefined]) })
  return [...steps, { atMs: untilMs, decommissioned: undefined }]
}

/** Chooses the target of a fault. */
type Pick = (targets: readonly string[]) => string

/** Returns how a seed chooses targets. Half of the seeds have few, so that faults of the same servers meet. */
function planTargets(random: Random): Pick {
  const chosen = new Set<string>([...services, ...stores].filter(() => random.isTrue(0.3)))
  if (random.isTrue(0.5)) return (targets) => random.pick(targets)
  return (targets) => {
    const left = targets.filter((target) => chosen.has(target))
    return random.pick(left.length === 0 ? targets : left)
  }
}

// Any, close to the time of a lease, or longer than a claim on a task.
const durations: readonly ((random: Random) => number)[] = [
  (random) => random.between(300, 15_000),
  (random) => random.between(3000, 4600),
  (random) => random.between(9000, 13_000),
]

/** Plans up to two sequences of faults. Each seed has only some kinds of them, so that rare ones meet often. */
function planFaults(random: Random, untilMs: number): SimulatedFaultStep[] {
  const kinds = faultKinds.filter(() => random.isTrue(0.4))
  const pick = planTargets(random)
  const maxPauseMs = random.pick([3000, 10_000, 40_000])
  const momentShare = random.pick([0, 0.5, 0.9])
  const planners = kinds.length === 0 ? faultKinds : kinds
  const combined = combinations.filter(() => random.isTrue(0.4))
  const combinedShare = combined.length === 0 ? 0 : random.pick([0, 0.3, 0.7])
  const found: SimulatedFaultStep[] = []
  const lines = random.pick([1, 2])
  for (let line = 0; line < lines; line++) {
    let atMs = quietBeginMs + random.below(maxPauseMs)
    for (;;) {
      const [first, ...others] = random.isTrue(combinedShare)
        ? random.pick(combined)(random, pick)
        : [planFault(random, pick, planners, momentShare)]
      const forMs = Math.max(first.forMs, ...others.map((other) => (other.laterMs ?? 0) + other.forMs))
      if (atMs + forMs > untilMs) break
      const id = `f${found.length + 1}`
      // First those that wait for the first one.
      for (const [index, other] of others.entries())
        found.push({ id: `${id}.${index + 1}`, atMs, follows: id, ...other })
      found.push({ id, atMs, ...first })
      atMs += forMs + random.below(maxPauseMs)
    }
  }
  return found.sort((a, b) => a.atMs - b.atMs)
}

/** A fault without its place in time. */
type PlannedFault = Omit<SimulatedFaultStep, 'id' | 'atMs' | 'follows'>

function planFault(
  random: Random,
  pick: Pick,
  planners: readonly ((random: Random, pick: Pick) => SimulatedFault)[],
  momentShare: number,
): PlannedFault {
  const fault = random.pick(planners)(random, pick)
  const forMs = fault.kind === 'flush' ? 0 : Math.round(random.pick(durations)(random))
  const moment = random.isTrue(momentShare) ? random.pick(moments) : undefined
  return { forMs, fault, moment, laterMs: random.pick([0, 0, 2, 20, 500]) }
}

const moments = ['leases', 'segments', 'tasks', 'rules', 'requests'] as const satisfies readonly Moment[]

const killOf = (random: Random, target: string): SimulatedFault => ({
  kind: 'kill',
  target,
  steps: random.below(random.pick([3, 30, 300])),
  losesPower: random.isTrue(0.3),
})

const leading = [...instances.coordinator, ...instances.overlord]

const faultKinds: readonly ((random: Random, pick: Pick) => SimulatedFault)[] = [
  (random, pick) => killOf(random, pick(services)),
  (random, pick) => killOf(random, pick(leading)),
  (random, pick) => killOf(random, pick(historicals)),
  (random, pick) => killOf(random, pick(stores)),
  (_, pick) => ({ kind: 'freeze', target: pick(services) }),
  (_, pick) => ({ kind: 'freeze', target: pick(leading) }),
  (_, pick) => ({ kind: 'freeze', target: pick(stores) }),
  () => ({ kind: 'flush', target: 'redis' }),
  (random, pick) => linkFault(random, pick(services), pick),
  (random, pick) => linkFault(random, pick(leading), pick),
  (random) => ({
    kind: 'partition',
    members: services.filter(() => random.isTrue(0.3)),
    reachesStores: random.isTrue(0.5),
  }),
  (random, pick) => ({
    kind: 'failStatements',
    target: pick([...services, ...leading, ...leading]),
    probability: random.pick([0.05, 0.3, 1]),
  }),
  (random, pick) => ({
    kind: random.pick(['fillDisk', 'slowDisk'] as const),
    target: pick([...historicals, 'deep-storage']),
  }),
  (_, pick) => ({ kind: 'misread', target: pick([...historicals, 'deep-storage']) }),
  (_, pick) => ({ kind: 'lieAboutSyncs', target: pick(historicals) }),
  (_, pick) => ({ kind: 'corrupt', target: pick(historicals) }),
  (random, pick) => ({
    kind: 'moveClock',
    target: pick(services),
    byMs: (random.isTrue(0.5) ? 1 : -1) * (1000 + random.below(3_600_000)),
  }),
]

function linkFault(random: Random, target: string, pick: Pick): SimulatedFault {
  const others = [...services.filter((other) => other !== target), ...stores, ...stores, ...stores]
  return {
    kind: 'link',
    target,
    to: random.isTrue(0.3) ? undefined : pick(others),
    state: random.pick(['cut', 'slow', 'torn', 'lossy'] as const),
  }
}

const cutOff = (target: string, to: string): SimulatedFault => ({ kind: 'link', target, to, state: 'cut' })
const between = (random: Random, min: number, max: number): number => Math.round(random.between(min, max))

/** Faults that rarely meet by chance: the others start some time after the first one. */
const combinations: readonly ((random: Random, pick: Pick) => [PlannedFault, ...PlannedFault[]])[] = [
  // An answer about a lease is late by almost the time of the lease, and then the leader reaches the store no more.
  (random, pick) => {
    const target = pick(leading)
    const forMs = between(random, 1500, 4500)
    return [
      { moment: 'leases', forMs, fault: { kind: 'link', target, to: 'postgres', state: 'late' } },
      { laterMs: forMs, forMs: between(random, 4000, 9000), fault: cutOff(target, 'postgres') },
    ]
  },
  // The same when a server takes over, and the former leader returns.
  (random) => {
    const role = random.isTrue(0.5) ? instances.coordinator! : instances.overlord!
    const [target, other] = random.isTrue(0.5) ? [role[0]!, role[1]!] : [role[1]!, role[0]!]
    const lateMs = between(random, 2500, 4500)
    return [
      { moment: 'leases', forMs: between(random, 4500, 7000), fault: { kind: 'freeze', target: other } },
      {
        laterMs: 2000,
        forMs: lateMs,
        fault: { kind: 'link', target, to: 'postgres', state: 'late' },
      },
      { laterMs: 2000 + lateMs, forMs: between(random, 4000, 9000), fault: cutOff(target, 'postgres') },
    ]
  },
  // Redis loses requests that a server could not receive.
  (random, pick) => {
    const target = pick(historicals)
    const forMs = between(random, 2000, 9000)
    return [
      { forMs, fault: cutOff(target, 'redis') },
      { laterMs: between(random, 500, forMs), forMs: 0, fault: { kind: 'flush', target: 'redis' } },
    ]
  },
  // A new leader cannot reach the servers of a tier that announce themselves.
  (random) => {
    const forMs = between(random, 10_000, 20_000)
    const unreached = random.pick(Object.values(tiers))
    const links = unreached.flatMap((server) => instances.coordinator!.map((to) => cutOff(server, to)))
    const leader = random.pick(instances.coordinator!)
    return [
      { forMs: between(random, 1000, 15_000), fault: { kind: 'freeze', target: leader } },
      ...links.map((fault) => ({ forMs, fault })),
    ]
  },
  // A worker dies right after a publication.
  (random) => [
    {
      moment: 'segments',
      forMs: between(random, 300, 5000),
      fault: {
        kind: 'kill',
        target: random.pick(workers),
        steps: random.below(random.pick([3, 30])),
        losesPower: random.isTrue(0.3),
      },
    },
  ],
  // The statements of a worker fail now and then, for a moment.
  (random) => {
    const target = random.pick(workers)
    const pauseMs = random.pick([500, 2000])
    const failure = (): PlannedFault => ({
      forMs: between(random, 20, 300),
      fault: { kind: 'failStatements', target, probability: 1 },
    })
    const later = Array.from({ length: 8 }, (_, index) => ({ ...failure(), laterMs: pauseMs * (index + 1) }))
    return [failure(), ...later]
  },
  // A server gets leases without learning about it, again and again, while another could lead.
  (random) => {
    const role = random.isTrue(0.5) ? instances.coordinator! : instances.overlord!
    const [target, other] = random.isTrue(0.5) ? [role[0]!, role[1]!] : [role[1]!, role[0]!]
    return [
      { moment: 'leases', forMs: between(random, 4200, 5500), fault: { kind: 'freeze', target: other } },
      {
        laterMs: 3000,
        forMs: between(random, 18_000, 30_000),
        fault: { kind: 'failStatements', target, probability: 1 },
      },
    ]
  },
  // Reports of a server get lost, and others arrive twice.
  (random, pick) => {
    const target = pick(historicals)
    const forMs = between(random, 10_000, 20_000)
    const [first, second] = instances.coordinator!.map(
      (to): PlannedFault => ({ forMs, fault: { kind: 'link', target, to, state: 'lossy' } }),
    )
    return [first!, second!]
  },
  // Publications take seconds.
  (random) => {
    const forMs = between(random, 15_000, 30_000)
    const [first, ...others] = workers.map(
      (target): PlannedFault => ({ forMs, fault: { kind: 'link', target, to: 'postgres', state: 'slow' } }),
    )
    return [first!, ...others]
  },
  // A broker that lost its files fetches them from servers that return wrong bytes.
  (random) => {
    const forMs = between(random, 10_000, 25_000)
    const [first, ...others] = historicals.map(
      (target): PlannedFault => ({ forMs, fault: { kind: 'misread', target } }),
    )
    const kill = killOf(random, random.pick(instances.broker!))
    return [first!, ...others, { laterMs: 500, forMs: between(random, 300, 2000), fault: kill }]
  },
]
