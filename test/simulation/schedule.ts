import { instances, planWork, type ScheduledRule, tiers, type WorkStep } from '../faults/schedule.ts'
import { seededRandom } from '../support/random.ts'
import type { Pace } from './cluster/layout.ts'
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
      readonly to: string
      readonly state: Exclude<LinkState, 'sound'>
    }
  /** Some machines reach each other, but no others. */
  | { readonly kind: 'partition'; readonly members: readonly string[] }
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
}

/** A change of the dynamic configuration. */
export interface DecommissioningStep {
  readonly atMs: number
  /** The historical whose segments move to others; undefined if none does. */
  readonly decommissioned: string | undefined
}

/** Everything that happens in a run. */
export interface SimulationPlan {
  readonly seed: number
  readonly pace: Pace
  readonly work: readonly WorkStep[]
  readonly decommissioning: readonly DecommissioningStep[]
  readonly faults: readonly SimulatedFaultStep[]
}

const services = Object.values(instances).flat()
const historicals = Object.values(tiers).flat()
const stores = ['postgres', 'redis'] as const

const quietBeginMs = 2000
const maxFaultMs = 15_000

/** Returns the plan of a seed: some minutes of work and faults. */
export function planSimulation(seed: number, minutes: number): SimulationPlan {
  const random = randomOf(seed, 'plan')
  const work = planWork(seededRandom(seed), minutes * 60, random.pick([0.3, 0.6, 1]))
  return {
    seed,
    pace: {
      coordinatorSeconds: random.pick([1, 3, 10]),
      compactionSeconds: random.pick([5, 10, 30]),
      heartbeatSeconds: random.pick([1, 2, 2]),
      latencyMs: random.pick([0.3, 1, 5]),
      deepStorageMs: random.pick([0, 10, 100, 500]),
      taskSeconds: random.pick([1, 5, 20]),
      loadingThreads: random.pick([1, 4]),
    },
    // A simulated cluster has no logins.
    work: work
      .filter((step) => step.work.kind !== 'setRight' && step.work.kind !== 'login')
      .map((step) => withOtherReplicas(random, step)),
    decommissioning: planDecommissioning(random, minutes * 60_000),
    faults: planFaults(random, minutes * 60_000),
  }
}

/** Replicas that rules require. As all of them name the default tier, no segment depends on the single server of the other. */
const replicas = [
  { hot: 0, _default_tier: 1 },
  { hot: 1, _default_tier: 1 },
  { hot: 0, _default_tier: 2 },
  { hot: 1, _default_tier: 2 },
] as const

/** Lets rules change the number of replicas more often than in the fault tests. */
function withOtherReplicas(random: Random, step: WorkStep): WorkStep {
  const { work } = step
  if (work.kind !== 'setRules') return step
  const change = (rule: ScheduledRule): ScheduledRule =>
    rule.type === 'loadForever' ? { ...rule, tieredReplicants: random.pick(replicas) } : rule
  return { ...step, work: { ...work, rules: work.rules.map(change) } }
}

/** Plans which historical of the default tier must give its segments to others. At the end, none does. */
function planDecommissioning(random: Random, untilMs: number): DecommissioningStep[] {
  const steps: DecommissioningStep[] = []
  const pauseMs = random.pick([20_000, 60_000, untilMs])
  for (let atMs = random.below(pauseMs); atMs < untilMs; atMs += pauseMs / 2 + random.below(pauseMs))
    steps.push({ atMs, decommissioned: random.pick([...tiers._default_tier!, undefined]) })
  return [...steps, { atMs: untilMs, decommissioned: undefined }]
}

/** Plans up to two sequences of faults. Each seed has only some kinds of them, so that rare ones meet often. */
function planFaults(random: Random, untilMs: number): SimulatedFaultStep[] {
  const kinds = faultKinds.filter(() => random.isTrue(0.4))
  const maxPauseMs = random.pick([3000, 10_000, 40_000])
  const planners = kinds.length === 0 ? faultKinds : kinds
  const found: Omit<SimulatedFaultStep, 'id'>[] = []
  const lines = random.pick([1, 2])
  for (let line = 0; line < lines; line++) {
    let atMs = quietBeginMs + random.below(maxPauseMs)
    for (;;) {
      const fault = random.pick(planners)(random)
      const forMs = fault.kind === 'flush' ? 0 : 300 + random.below(maxFaultMs)
      if (atMs + forMs > untilMs) break
      found.push({ atMs, forMs, fault })
      atMs += forMs + random.below(maxPauseMs)
    }
  }
  return found.sort((a, b) => a.atMs - b.atMs).map((step, index) => ({ id: `f${index + 1}`, ...step }))
}

const killOf = (random: Random, target: string): SimulatedFault => ({
  kind: 'kill',
  target,
  steps: random.below(random.pick([3, 30, 300])),
  losesPower: random.isTrue(0.3),
})

const leading = [...instances.coordinator, ...instances.overlord]

const faultKinds: readonly ((random: Random) => SimulatedFault)[] = [
  (random) => killOf(random, random.pick(services)),
  (random) => killOf(random, random.pick(leading)),
  (random) => killOf(random, random.pick(historicals)),
  (random) => killOf(random, random.pick(stores)),
  (random) => ({ kind: 'freeze', target: random.pick(services) }),
  (random) => ({ kind: 'freeze', target: random.pick(leading) }),
  (random) => ({ kind: 'freeze', target: random.pick(stores) }),
  () => ({ kind: 'flush', target: 'redis' }),
  (random) => linkFault(random, random.pick(services)),
  (random) => linkFault(random, random.pick(leading)),
  (random) => ({ kind: 'partition', members: services.filter(() => random.isTrue(0.3)) }),
  (random) => ({
    kind: 'failStatements',
    target: random.pick(services),
    probability: random.pick([0.05, 0.3, 1]),
  }),
  (random) => ({
    kind: random.pick(['fillDisk', 'slowDisk'] as const),
    target: random.pick([...historicals, 'deep-storage']),
  }),
  (random) => ({ kind: 'misread', target: random.pick([...historicals, 'deep-storage']) }),
  (random) => ({ kind: 'lieAboutSyncs', target: random.pick(historicals) }),
  (random) => ({ kind: 'corrupt', target: random.pick(historicals) }),
  (random) => ({
    kind: 'moveClock',
    target: random.pick(services),
    byMs: (random.isTrue(0.5) ? 1 : -1) * (1000 + random.below(3_600_000)),
  }),
]

function linkFault(random: Random, target: string): SimulatedFault {
  const others = [...services.filter((other) => other !== target), ...stores, ...stores, ...stores]
  return {
    kind: 'link',
    target,
    to: random.pick(others),
    state: random.pick(['cut', 'slow', 'torn', 'lossy'] as const),
  }
}
