import type { Fault, FaultStep } from '../../faults/schedule.ts'
import type { Machine } from '../kernel/index.ts'
import type { SimulatedFault, SimulatedFaultStep } from '../schedule.ts'
import type { SimulatedCluster } from './cluster.ts'
import { cacheFolder } from './layout.ts'

const seenLinks = { slow: 'slow', late: 'cut', cut: 'cut', torn: 'torn', lossy: 'torn' } as const

/** Ends a fault. */
type Undo = () => void

// A process that does little is killed after this time at the latest.
const maxKillDelayMs = 2000
const slowDiskMs = 300
const misreadProbability = 0.05

/** Returns the faults of a history that come closest to a fault of the simulation. */
export function seenFaults({ id, atMs, forMs, fault }: SimulatedFaultStep): FaultStep[] {
  return seenAs(fault).map((seen, index) => ({
    id: index === 0 ? id : `${id}.${index}`,
    atMs,
    forMs,
    fault: seen,
  }))
}

function seenAs(fault: SimulatedFault): Fault[] {
  switch (fault.kind) {
    case 'kill':
      return [{ kind: 'kill', target: fault.target }]
    case 'lieAboutSyncs':
    case 'corrupt':
      return [{ kind: 'kill', target: fault.target }]
    case 'link':
      return [
        {
          kind: seenLinks[fault.state],
          target: fault.target,
          to: fault.to ?? 'postgres',
        },
      ]
    case 'partition':
      return fault.members.map((target) => ({ kind: 'cut', target, to: 'postgres' }))
    case 'failStatements':
      return [{ kind: 'torn', target: fault.target, to: 'postgres' }]
    case 'fillDisk':
    case 'slowDisk':
    case 'misread':
      return [{ kind: 'fillDisk', target: fault.target === 'deep-storage' ? 'deepStorage' : 'cache' }]
    default:
      return [fault]
  }
}

/** Starts a fault. Returns a function that ends it, or undefined if it is not possible now. */
export function startFault(cluster: SimulatedCluster, fault: SimulatedFault): Undo | undefined {
  const { machines, store, queues } = cluster
  switch (fault.kind) {
    case 'kill':
      return startKill(cluster, fault)
    case 'freeze': {
      const { process } = machines.get(fault.target)!
      if (process === undefined) return undefined
      cluster.pause(process)
      return () => cluster.continue(process)
    }
    case 'flush':
      queues.flush()
      return () => undefined
    case 'link':
      return startLinkFault(cluster, fault)
    case 'partition':
      return startPartition(cluster, fault)
    case 'failStatements':
      store.failing.set(fault.target, fault.probability)
      return () => store.failing.delete(fault.target)
    case 'moveClock': {
      const machine = machines.get(fault.target)!
      machine.clockOffsetMs = fault.byMs
      return () => {
        machine.clockOffsetMs = 0
      }
    }
    default:
      return startDiskFault(cluster, fault)
  }
}

function startKill(
  cluster: SimulatedCluster,
  { target, steps, losesPower }: SimulatedFault & { kind: 'kill' },
): Undo | undefined {
  const { process } = cluster.machines.get(target)!
  if (process === undefined) return undefined
  const kill = (): void => {
    if (process.isAlive) cluster.kill(target, losesPower)
  }
  process.killAfter(steps, kill)
  cluster.scheduler.schedule(maxKillDelayMs, undefined, kill)
  return () => {
    kill()
    cluster.start(target)
  }
}

function startLinkFault(
  { machines, network }: SimulatedCluster,
  { target, to, state }: SimulatedFault & { readonly kind: 'link' },
): Undo {
  const others = to === undefined ? [...machines.keys()].filter((name) => name !== target) : [to]
  for (const other of others) network.setLink(target, other, state)
  return () => {
    for (const other of others) network.setLink(target, other, 'sound')
  }
}

function startPartition(
  { machines, network }: SimulatedCluster,
  { members, reachesStores }: SimulatedFault & { readonly kind: 'partition' },
): Undo {
  const stores = reachesStores ? ['postgres', 'redis'] : []
  const others = [...machines.keys()].filter((name) => !members.includes(name) && !stores.includes(name))
  const set = (isParted: boolean): void => {
    for (const member of members) for (const other of others) network.part(member, other, isParted)
  }
  set(true)
  return () => set(false)
}

function startDiskFault(
  cluster: SimulatedCluster,
  fault: SimulatedFault & { readonly target: string },
): Undo | undefined {
  const machine = cluster.machines.get(fault.target)!
  const { disk } = machine
  switch (fault.kind) {
    case 'fillDisk':
      disk.isFull = true
      return () => {
        disk.isFull = false
      }
    case 'slowDisk': {
      const { slownessMs } = disk
      disk.slownessMs = slownessMs + slowDiskMs
      return () => {
        disk.slownessMs = slownessMs
      }
    }
    case 'misread':
      disk.misreads = misreadProbability
      return () => {
        disk.misreads = 0
      }
    case 'lieAboutSyncs':
      disk.isLying = true
      return () => {
        cluster.observer?.noteLostCopies()
        cluster.kill(fault.target, true)
        disk.isLying = false
        cluster.start(fault.target)
      }
    case 'corrupt':
      // Caches are checked when they are opened.
      if (machine.process === undefined || !corruptFile(machine)) return undefined
      cluster.observer?.noteLostCopies()
      cluster.kill(fault.target)
      return () => cluster.start(fault.target)
    default:
      return undefined
  }
}

/** Changes a byte of a segment in the cache. Returns false if it has none. */
function corruptFile({ disk, random }: Machine): boolean {
  const folder = disk.find(`${cacheFolder}/segments`)
  if (folder?.kind !== 'folder' || folder.entries.size === 0) return false
  const segment = random.pick([...folder.entries.values()])
  if (segment.kind !== 'folder') return false
  const file = random.pick([...segment.entries.values()])
  if (file?.kind !== 'file') return false
  disk.corrupt(file)
  return true
}
