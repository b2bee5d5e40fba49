import { type SeededRandom, seededRandom } from '../support/random.ts'

/** A rule of the schedule: replicas by tier, or drop; for one day, or for all days. */
export type ScheduledRule =
  | { readonly type: 'loadForever'; readonly tieredReplicants: Readonly<Record<string, number>> }
  | {
      readonly type: 'loadByInterval'
      readonly interval: string
      readonly tieredReplicants: Readonly<Record<string, number>>
    }
  | { readonly type: 'dropByInterval'; readonly interval: string }

/** One piece of work: a request to the cluster. */
export type Work =
  | { readonly kind: 'setRules'; readonly dataSource: string; readonly rules: readonly ScheduledRule[] }
  | { readonly kind: 'readRules'; readonly dataSource: string }
  | { readonly kind: 'setCompaction'; readonly dataSource: string; readonly taskPriority: number }
  | { readonly kind: 'removeCompaction'; readonly dataSource: string }
  | { readonly kind: 'mark'; readonly dataSource: string; readonly day: string; readonly used: boolean }
  | {
      readonly kind: 'ingest'
      readonly dataSource: string
      readonly task: string
      readonly days: readonly string[]
      readonly rowsPerDay: number
      readonly append: boolean
    }
  | { readonly kind: 'kill'; readonly dataSource: string; readonly task: string; readonly day: string }
  | { readonly kind: 'query'; readonly dataSource: string }
  | { readonly kind: 'setRight'; readonly granted: boolean }
  | { readonly kind: 'login'; readonly login: Login }

/** Kinds of callers and what they must always get: access, 403, or 401. */
export type Login = 'admin' | 'reader' | 'readerElsewhere' | 'readerWrites' | 'stranger' | 'wrongPassword'

/** One request. Requests of the same register wait for each other. Times are milliseconds since the start. */
export interface WorkStep {
  readonly id: string
  readonly atMs: number
  /** The instance that receives the request. */
  readonly to: string
  /**
   * What is written or read. Its requests run one after another, so that the last one determines the state.
   */
  readonly register: string
  readonly work: Work
}

/** A kind of fault. */
export type Fault =
  | { readonly kind: 'kill' | 'freeze'; readonly target: string }
  | { readonly kind: 'flush'; readonly target: 'redis' }
  | { readonly kind: 'cut' | 'slow' | 'torn'; readonly target: string; readonly to: string }
  | { readonly kind: 'fillDisk'; readonly target: Disk }
  | { readonly kind: 'moveClock'; readonly target: string; readonly byMs: number }

/** Separate disks that can be filled. */
export type Disk = 'deepStorage' | 'cache'

/** A fault with its start and duration, in milliseconds since the start. */
export interface FaultStep {
  readonly id: string
  readonly atMs: number
  readonly forMs: number
  readonly fault: Fault
}

/** Everything that happens in a run. */
export interface Schedule {
  readonly seed: number
  readonly seconds: number
  readonly work: readonly WorkStep[]
  readonly faults: readonly FaultStep[]
}

/** The servers of a run, by instance. */
export const instances = {
  router: ['router'],
  coordinator: ['coordinator', 'coordinator-2'],
  overlord: ['overlord', 'overlord-2'],
  worker: ['worker'],
  broker: ['broker'],
  historical: ['historical-1', 'historical-2', 'historical-hot-1'],
} as const
const services = Object.values(instances).flat()
const stores = ['postgres', 'redis'] as const

/** The tiers of a run with their historicals. */
export const tiers: Readonly<Record<string, readonly string[]>> = {
  _default_tier: ['historical-1', 'historical-2'],
  hot: ['historical-hot-1'],
}

/** How each datasource changes, in addition to queries and load rules. */
export const dataSources = {
  /** Never changes, and is always complete. */
  stable: 'stable',
  /** Rows are appended. */
  appended: ['appended-1', 'appended-2'],
  /** Days are replaced. */
  replaced: 'replaced',
  /** Days are marked as used and unused. */
  marked: 'marked',
  /** Rules drop days, which are then marked as used again. */
  ruled: 'ruled',
  /** Days are marked as unused and erased. */
  erased: 'erased',
} as const

/** The days of the datasources. */
export const days: readonly string[] = Array.from(
  { length: 4 },
  (_, index) => `2026-01-${String(index + 1).padStart(2, '0')}`,
)

/** The interval of a day. */
export function intervalOf(day: string): string {
  const start = Date.parse(day)
  return `${new Date(start).toISOString()}/${new Date(start + 86_400_000).toISOString()}`
}

/** Rows per day at the start, and the task that wrote them. */
export const firstRowsPerDay = 5
export const firstTask = 'first'

const workPerSecond = 6
/** Faults start after the first second, and the last one ends before the run does. */
const quietBeginMs = 1000
const maxFaultMs = 6000
const maxPauseMs = 2500

/** Returns the work and the faults of a run of `seconds`; the same for the same seed. */
export function planSchedule(seed: number, seconds: number): Schedule {
  const random = seededRandom(seed)
  return {
    seed,
    seconds,
    work: planWork(random, seconds, workPerSecond),
    faults: planFaults(random, seconds),
  }
}

const upTo = (random: SeededRandom, max: number): number => Math.floor(random.next() * max)
const pick = <Item>(random: SeededRandom, items: readonly Item[]): Item =>
  items[upTo(random, items.length)] as Item
const isOneIn = (random: SeededRandom, count: number): boolean => random.next() * count < 1

/** Returns the requests of some seconds, in the order of their times. */
export function planWork(random: SeededRandom, seconds: number, perSecond: number): WorkStep[] {
  const count = Math.round(seconds * perSecond)
  const times = Array.from({ length: count }, () => upTo(random, seconds * 1000)).sort((a, b) => a - b)
  return times.map((atMs, index): WorkStep => {
    const id = `w${index + 1}`
    const work = planPiece(random, id)
    return { id, atMs, to: addressee(random, work), register: registerOf(work, id), work }
  })
}

/** Most requests go through the router; some go to a server that may not be the leader. */
function addressee(random: SeededRandom, work: Work): string {
  const direct = isOneIn(random, 5)
  // Only coordinators accept changes to users and permissions.
  if (work.kind === 'setRight') return pick(random, instances.coordinator)
  if (!direct || work.kind === 'query') return 'router'
  const isOfOverlord = work.kind === 'ingest' || work.kind === 'kill'
  return pick(random, isOfOverlord ? instances.overlord : instances.coordinator)
}

function registerOf(work: Work, id: string): string {
  switch (work.kind) {
    case 'setRules':
      return `rules of ${work.dataSource}`
    case 'setCompaction':
    case 'removeCompaction':
      return `compaction of ${work.dataSource}`
    case 'mark':
      return `${work.dataSource} ${work.day}`
    case 'setRight':
      return 'right'
    default:
      return id
  }
}

const loadable = [dataSources.replaced, dataSources.marked, dataSources.erased, ...dataSources.appended]

function planPiece(random: SeededRandom, id: string): Work {
  const { stable, appended, replaced, marked, ruled, erased } = dataSources
  const share = upTo(random, 100)
  if (share < 16)
    return { kind: 'setRules', dataSource: pick(random, loadable), rules: [loadForever(random)] }
  if (share < 24) return { kind: 'setRules', dataSource: ruled, rules: rulesWithDrops(random) }
  if (share < 30) return { kind: 'readRules', dataSource: pick(random, [...loadable, ruled]) }
  if (share < 36) {
    const dataSource = pick(random, appended)
    return isOneIn(random, 3)
      ? { kind: 'removeCompaction', dataSource }
      : { kind: 'setCompaction', dataSource, taskPriority: 1 + upTo(random, 100) }
  }
  if (share < 50) {
    const [dataSource, used] = pick(random, [
      [marked, true],
      [marked, false],
      [ruled, true],
      [erased, false],
    ] as const)
    return { kind: 'mark', dataSource, day: pick(random, days), used }
  }
  if (share < 60) return ingest(random, id, pick(random, appended), true)
  if (share < 63) return ingest(random, id, replaced, false)
  if (share < 66) return { kind: 'kill', dataSource: erased, task: `kill-${id}`, day: pick(random, days) }
  if (share < 80) return { kind: 'query', dataSource: pick(random, [stable, stable, ...appended, replaced]) }
  if (share < 85) return { kind: 'setRight', granted: isOneIn(random, 2) }
  const logins = ['admin', 'reader', 'readerElsewhere', 'readerWrites', 'stranger', 'wrongPassword'] as const
  return { kind: 'login', login: pick(random, logins) }
}

function loadForever(random: SeededRandom): ScheduledRule {
  const hot = upTo(random, 2)
  return { type: 'loadForever', tieredReplicants: { hot, _default_tier: hot + upTo(random, 3 - hot) || 1 } }
}

function rulesWithDrops(random: SeededRandom): ScheduledRule[] {
  const first: ScheduledRule = isOneIn(random, 2)
    ? { type: 'dropByInterval', interval: intervalOf(pick(random, days)) }
    : { type: 'loadByInterval', interval: intervalOf(pick(random, days)), tieredReplicants: { hot: 1 } }
  return [first, loadForever(random)]
}

function ingest(random: SeededRandom, id: string, dataSource: string, append: boolean): Work {
  const first = upTo(random, days.length)
  const chosen = days.slice(first, first + 1 + upTo(random, 2))
  return {
    kind: 'ingest',
    dataSource,
    task: `ingest-${id}`,
    days: chosen,
    rowsPerDay: 1 + upTo(random, 5),
    append,
  }
}

/** Two sequences of faults, so that at most two are active at a time. */
function planFaults(random: SeededRandom, seconds: number): FaultStep[] {
  const found: Omit<FaultStep, 'id'>[] = []
  for (const line of [0, 1]) {
    let atMs = quietBeginMs + line * 1500 + upTo(random, 1000)
    for (;;) {
      const fault = planFault(random)
      const forMs = fault.kind === 'flush' ? 0 : 500 + upTo(random, maxFaultMs - 500)
      if (atMs + forMs > seconds * 1000) break
      found.push({ atMs, forMs, fault })
      atMs += forMs + upTo(random, maxPauseMs)
    }
  }
  return found.sort((a, b) => a.atMs - b.atMs).map((step, index) => ({ id: `f${index + 1}`, ...step }))
}

function planFault(random: SeededRandom): Fault {
  const share = upTo(random, 100)
  if (share < 25) return { kind: 'kill', target: pick(random, services) }
  if (share < 45) return { kind: 'freeze', target: pick(random, services) }
  if (share < 52) return { kind: 'kill', target: pick(random, stores) }
  if (share < 58) return { kind: 'freeze', target: pick(random, stores) }
  if (share < 63) return { kind: 'flush', target: 'redis' }
  if (share < 87) {
    const target = pick(random, services)
    const others = [...services.filter((other) => other !== target), ...stores, ...stores]
    return { kind: pick(random, ['cut', 'slow', 'torn'] as const), target, to: pick(random, others) }
  }
  if (share < 94) return { kind: 'fillDisk', target: pick(random, ['deepStorage', 'cache'] as const) }
  const sign = isOneIn(random, 2) ? 1 : -1
  return { kind: 'moveClock', target: pick(random, services), byMs: sign * (1000 + upTo(random, 3_600_000)) }
}
