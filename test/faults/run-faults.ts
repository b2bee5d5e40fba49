import { closeSync, openSync, readdirSync, rmSync, writeSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { openProducerConnection } from '@svc/shared/redis'
import { waitUntil } from '@svc/shared/testing'
import { parentOf } from '../support/processes-of-home.ts'
import type { Entry } from './history.ts'
import type { Disk, Fault, FaultStep } from './schedule.ts'
import type { World } from './world.ts'

/** How a fault ends; a string says why it was not possible. */
type Undo = () => Promise<void> | void

const readyMs = 60_000

/** Injects the faults at their times, ends them, and records both; resolves when the last fault has ended. */
export function startFaults(
  world: World,
  steps: readonly FaultStep[],
  now: () => number,
  record: (entry: Entry) => void,
): Promise<void> {
  const busy = new Set<string>()
  const runs = steps.map(async (step) => {
    await delay(Math.max(step.atMs - now(), 0))
    record({ type: 'fault', at: now(), step })
    const { fault } = step
    const place = placeOf(fault)
    const end = (skipped?: string) =>
      record({ type: 'faultEnd', at: now(), id: step.id, ...(skipped === undefined ? {} : { skipped }) })
    if (busy.has(place)) return end('another fault is active')
    busy.add(place)
    try {
      const undo = await startFault(world, fault)
      if (typeof undo === 'string') return end(undo)
      await delay(step.forMs)
      await undo()
      end()
      if (fault.kind === 'kill' && isService(world, fault.target)) {
        await world.cluster.waitUntilReady(fault.target, readyMs).then(
          () => record({ type: 'ready', at: now(), instance: fault.target }),
          // The check detects that it is not ready again.
          () => undefined,
        )
      }
    } finally {
      busy.delete(place)
    }
  })
  return Promise.all(runs).then(() => undefined)
}

/** Things that only one fault can affect at a time. */
function placeOf(fault: Fault): string {
  if ('to' in fault) return `${fault.target} to ${fault.to}`
  return fault.kind === 'moveClock' ? `clock of ${fault.target}` : fault.target
}

const isService = ({ cluster }: World, target: string): boolean => target in cluster.urls

async function startFault(world: World, fault: Fault): Promise<Undo | string> {
  const { cluster } = world
  switch (fault.kind) {
    case 'kill':
      await cluster.kill(fault.target, 'SIGKILL')
      await cluster.stopInstance(fault.target)
      return () => cluster.startInstance(fault.target)
    case 'freeze': {
      const running = cluster.processes().find(({ instance }) => instance === fault.target)?.process
      if (!running) return 'it is not running'
      const pids = withDescendants(running.pid)
      for (const pid of pids) signal(pid, 'SIGSTOP')
      return () => {
        for (const pid of pids) signal(pid, 'SIGCONT')
      }
    }
    case 'flush':
      return (await flushRedis(world)) ? () => undefined : 'Redis is unavailable'
    case 'cut':
    case 'slow':
    case 'torn':
      world.setLink(fault.target, fault.to, fault.kind)
      return () => world.setLink(fault.target, fault.to, 'sound')
    case 'fillDisk':
      return fillDisk(world, fault.target)
    case 'moveClock':
      if (!world.canMoveClocks) return 'clocks cannot be moved'
      world.moveClock(fault.target, fault.byMs)
      return () => world.moveClock(fault.target, 0)
  }
}

/** A process and all its direct and indirect child processes. */
function withDescendants(pid: number): number[] {
  const childrenOf = new Map<number, number[]>()
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    const child = Number(entry)
    const parent = parentOf(child)
    if (parent !== undefined) childrenOf.set(parent, [...(childrenOf.get(parent) ?? []), child])
  }
  const found = [pid]
  for (const one of found) found.push(...(childrenOf.get(one) ?? []))
  return found
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    // It has exited in the meantime.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

async function flushRedis({ cluster }: World): Promise<boolean> {
  const redis = openProducerConnection(cluster.settings)
  try {
    await waitUntil(
      'Redis answers',
      () => redis.status,
      (status) => status === 'ready',
      { timeoutMs: 1000 },
    )
    await Promise.race([redis.flushall(), delay(1000).then(() => Promise.reject(new Error('no answer')))])
    return true
  } catch {
    return false
  } finally {
    redis.disconnect()
  }
}

/** Writes to a file until the disk is full. */
function fillDisk(world: World, disk: Disk): Undo | string {
  const folder = world.diskOf(disk)
  if (folder === undefined) return 'no separate disk'
  const file = path.join(folder, 'filler')
  const descriptor = openSync(file, 'w')
  try {
    for (let size = 2 ** 20; size >= 1; ) {
      try {
        writeSync(descriptor, Buffer.alloc(size))
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
        size = Math.floor(size / 2)
      }
    }
  } finally {
    closeSync(descriptor)
  }
  return () => rmSync(file, { force: true })
}
