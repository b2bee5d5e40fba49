import type { SimulatedFaultStep } from '../schedule.ts'
import type { SimulatedCluster } from './cluster.ts'
import { seenFaults, startFault } from './faults.ts'
import type { Observer } from './observer.ts'

/** How long a fault waits for the moment at which it starts. */
export const maxWaitMs = 20_000

/** Starts a fault, or waits for the moment at which it starts, and ends it. */
export function runFault(cluster: SimulatedCluster, observer: Observer, step: SimulatedFaultStep): void {
  const { moment, follows, fault, laterMs = 0 } = step
  if (moment === undefined && follows === undefined) {
    beginFault(cluster, observer, step)
    return
  }
  const target =
    follows === undefined && 'target' in fault && cluster.servers.has(fault.target) ? fault.target : undefined
  const stopWaiting = cluster.moments.next(moment ?? 'fault', follows ?? target, () => {
    // A store must not stop in the middle of what it does.
    if (target !== undefined && laterMs === 0) beginFault(cluster, observer, step)
    else cluster.scheduler.schedule(laterMs, undefined, () => beginFault(cluster, observer, step))
  })
  cluster.scheduler.schedule(maxWaitMs, undefined, () => {
    if (stopWaiting()) skipFault(observer, step, 'its moment did not come')
  })
}

function skipFault(observer: Observer, step: SimulatedFaultStep, skipped: string): void {
  for (const one of seenFaults(step)) {
    observer.record({ type: 'fault', at: observer.now(), step: one })
    observer.record({ type: 'faultEnd', at: observer.now(), id: one.id, skipped })
  }
}

function beginFault(cluster: SimulatedCluster, observer: Observer, step: SimulatedFaultStep): void {
  const place = placeOf(step)
  const isFree = !cluster.faultyPlaces.has(place)
  const undo = isFree ? startFault(cluster, step.fault) : undefined
  if (undo === undefined) {
    skipFault(observer, step, isFree ? 'it is not possible now' : 'another fault is active')
    return
  }
  cluster.moments.happened('fault', step.id)
  const seen = seenFaults(step)
  for (const one of seen) observer.record({ type: 'fault', at: observer.now(), step: one })
  cluster.faultyPlaces.add(place)
  observer.noteTrouble()
  cluster.scheduler.schedule(step.forMs, undefined, () => {
    cluster.faultyPlaces.delete(place)
    undo()
    for (const { id } of seen) observer.record({ type: 'faultEnd', at: observer.now(), id })
    observer.noteTrouble()
  })
}

/** What only one fault can affect at a time. */
function placeOf({ fault }: SimulatedFaultStep): string {
  switch (fault.kind) {
    case 'partition':
      return fault.kind
    case 'link':
      return `link ${[fault.target, fault.to ?? ''].sort().join(' ')}`
    case 'moveClock':
    case 'failStatements':
      return `${fault.kind} ${fault.target}`
    default:
      return fault.target
  }
}
