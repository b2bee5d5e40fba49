import { addPeriod, type Period, periodOf } from '../time/index.ts'
import { Course, historiesOf, type PreviewStep } from './course.ts'
import type { UnplacedOutcome } from './decide-outcome.ts'
import { assertCanSimulate } from './simulated-runs.ts'
import { SimulatedSteps } from './simulated-steps.ts'
import { noLaterDemand, tightHolders } from './tight-tiers.ts'

/** Maximum number of steps in a horizon. */
const maxSteps = 120
/** Minimum number of steps, unless the horizon has fewer minutes. */
const minSteps = 12

// Neighbors are close enough that 12 of the longer are less than 120 of the shorter.
const stepPeriods = ['P1M', 'P1W', 'P1D', 'PT6H', 'PT1H', 'PT15M', 'PT5M', 'PT1M'].map(
  (text) => periodOf(text) as Period,
)

const times = (period: Period, count: number): Period =>
  Object.fromEntries(
    Object.entries(period).map(([unit, amount]) => [unit, amount * count]),
  ) as unknown as Period

/**
 * Returns the times of the steps from `now` to the end of a horizon of at most ten years. They are months, weeks, days,
 * hours, or minutes apart, so that there are 12 to 120 of them. The last is the end of the horizon.
 */
export function stepTimes(now: number, horizon: Period): number[] {
  const end = addPeriod(now, horizon)
  if (end <= now) return []
  const period =
    stepPeriods.find((candidate) => addPeriod(now, times(candidate, minSteps)) <= end) ??
    (stepPeriods.at(-1) as Period)
  const moments: number[] = []
  for (let count = 1; count < maxSteps; count += 1) {
    const moment = addPeriod(now, times(period, count))
    if (moment >= end) break
    moments.push(moment)
  }
  return [...moments, end]
}

/** The steps of a horizon to decide. */
export interface Horizon {
  /** Datasources to include in the steps. */
  readonly concerned: ReadonlySet<string>
  readonly moments: readonly number[]
  /** Whether to assume that all replicas fit where tiers may run out of space. */
  readonly assumesSpace: boolean
}

/**
 * Decides what happens at each step of a horizon if the coordinator runs at each step and no data is added. If tiers may
 * run out of space, returns a simulation that has done what the coordinator does before the first step, instead of the
 * steps. Yields regularly.
 */
export function* foresee(
  unplaced: UnplacedOutcome,
  horizon: Horizon,
): Generator<undefined, readonly PreviewStep[] | SimulatedSteps> {
  const { cluster, datasources } = unplaced
  const demands = cluster.holders.map(noLaterDemand)
  const course = new Course(unplaced, { concerned: horizon.concerned, demands })
  const steps: PreviewStep[] = []
  for (const now of horizon.moments) {
    steps.push(yield* course.advance(now))
    course.forget()
  }
  if (horizon.assumesSpace) return steps
  const tight = yield* tightHolders(cluster, datasources, demands)
  return tight.size === 0 ? steps : yield* startSimulation(unplaced, horizon, tight)
}

/** Returns a simulation of the segments that have or need a replica in a tight holder, now or up to the last step. */
function* startSimulation(
  unplaced: UnplacedOutcome,
  { moments }: Horizon,
  tight: ReadonlySet<number>,
): Generator<undefined, SimulatedSteps> {
  const { datasources } = unplaced
  assertCanSimulate(datasources, tight)
  const marks = datasources.map(({ columns }) => new Uint8Array(columns.count))
  const histories = historiesOf(unplaced)
  for (const now of moments) {
    for (const [index, { targetOf }] of datasources.entries()) {
      yield
      for (const { from, to, before, after } of (yield* histories[index]!.advance(now)).ranges) {
        if (before.rule === after.rule) continue
        // Between two steps, the rules between these two may have applied.
        const first = Math.min(before.rule, after.rule)
        const last = Math.max(before.rule, after.rule)
        for (let rule = first; rule <= last; rule += 1)
          if (targetOf(rule).holders.some(({ holder }) => tight.has(holder))) {
            marks[index]!.fill(1, from, to)
            break
          }
      }
    }
  }
  const simulated = new SimulatedSteps({ ...unplaced, tight })
  for (const [index, datasource] of datasources.entries()) yield* simulated.add(datasource, marks[index]!)
  yield* simulated.start()
  return simulated
}
