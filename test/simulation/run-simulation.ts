import { checkHistory } from '../faults/check/index.ts'
import type { Entry } from '../faults/history.ts'
import { instances } from '../faults/schedule.ts'
import { type LogLine, SimulatedCluster, type Violation } from './cluster/cluster.ts'
import { damagedCopies, readRest, waitUntilIdle } from './cluster/final-state.ts'
import { createFirstData } from './cluster/first-data.ts'
import { Observer } from './cluster/observer.ts'
import { maxWaitMs, runFault } from './cluster/run-fault.ts'
import { startCancellations, startDecommissioning, startProbes, startWork } from './cluster/workload.ts'
import './cluster/roles.ts'
import type { SimulatedFaultStep, SimulationPlan } from './schedule.ts'

/** The result of a simulation. */
export interface SimulationResult {
  readonly violations: readonly Violation[]
  readonly entries: readonly Entry[]
  readonly logs: readonly LogLine[]
  /** Equal for equal runs. */
  readonly fingerprint: number
  readonly steps: number
  /** Simulated time. */
  readonly simulatedMs: number
  /** When the work started, in milliseconds of simulated time. */
  readonly startedAtMs: number
}

/** How long a new cluster may take to load the first data. */
const maxStartMs = 120_000
/** How long a cluster may take to become idle after the last fault. */
const maxIdleMs = 600_000
/** The time after the last fault until the cluster must be idle at the earliest. */
const settleMs = 30_000

/** Runs the work and the faults of a plan on its own cluster, and checks what happened. */
export async function simulate(plan: SimulationPlan): Promise<SimulationResult> {
  const cluster = new SimulatedCluster(plan.seed, plan.pace)
  const { scheduler, violations } = cluster
  createFirstData(cluster)
  for (const instance of Object.values(instances).flat()) cluster.start(instance)
  const observer = await startObserving(cluster)
  const startedAtMs = scheduler.nowMs
  const endMs = Math.max(
    ...[...plan.work, ...plan.decommissioning, ...plan.faults].map(
      (step) => step.atMs + ('forMs' in step ? durationOf(step) : 0),
    ),
    0,
  )
  let isProbing = true
  startWork(cluster, observer, plan.work)
  startProbes(cluster, observer, () => !isProbing)
  startDecommissioning(cluster, observer, plan.decommissioning)
  startCancellations(cluster, observer, plan.cancellations)
  for (const step of plan.faults)
    scheduler.schedule(step.atMs, undefined, () => runFault(cluster, observer, step))
  const isViolated = (): boolean => violations.length > 0
  await scheduler.runUntil(isViolated, scheduler.nowMs + endMs + settleMs)
  if (!isViolated()) {
    const problems = await waitUntilIdle(cluster, maxIdleMs)
    isProbing = false
    if (!isViolated()) {
      const rest = await readRest(cluster, observer)
      observer.endReigns()
      const problem = problems.length === 0 ? null : problems.slice(0, 5).join('; ')
      observer.record({ type: 'rest', at: observer.now(), problem, rest })
      violations.push(...checkHistory(observer.entries).violations)
      for (const what of damagedCopies(cluster))
        violations.push({ invariant: 'served segments are sound', what })
    }
  }
  const { fingerprint, steps, nowMs: simulatedMs } = scheduler
  return {
    violations,
    entries: observer.entries,
    logs: cluster.logs,
    fingerprint,
    steps,
    simulatedMs,
    startedAtMs,
  }
}

/** The time from when a fault could start until it has ended at the latest. */
function durationOf({ forMs, moment, follows, laterMs = 0 }: SimulatedFaultStep): number {
  const waitMs = moment === undefined && follows === undefined ? 0 : maxWaitMs + laterMs
  return waitMs + forMs
}

/** Waits until the first data are loaded, and starts to observe the cluster. */
async function startObserving(cluster: SimulatedCluster): Promise<Observer> {
  // It finds violations while the cluster loads its first data.
  new Observer(cluster)
  const problems = await waitUntilIdle(cluster, maxStartMs)
  if (problems.length > 0)
    cluster.violations.push({
      invariant: 'a new cluster loads its data',
      what: problems.slice(0, 5).join('; '),
    })
  const observer = new Observer(cluster)
  cluster.observer = observer
  return observer
}
