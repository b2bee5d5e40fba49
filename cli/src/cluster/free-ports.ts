import { randomInt } from 'node:crypto'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { conflict, unavailable } from '@svc/domain/failure'
import { parseOptions, type WrittenOptions } from '../cluster-options/index.ts'
import { homeLayout } from '../home/index.ts'
import { type ClusterPlan, planCluster, portsInUse } from './plan-cluster.ts'

/**
 * Checks that the ports of a cluster are free. Throws a Failure that names each port in use, its purpose, and an offset
 * at which all ports are free.
 */
export async function checkPortsAreFree(plan: ClusterPlan): Promise<void> {
  const ports = portsInUse(plan)
  const isFree = await Promise.all(ports.map(({ port }) => isPortFree(port, plan.hosts)))
  const taken = ports.filter((_, index) => !isFree[index])
  if (taken.length === 0) return
  const list = taken.map(({ port, use }) => `${port} (${use})`).join(', ')
  const offset = await freePortOffset(plan)
  throw conflict(
    `${taken.length === 1 ? 'Port' : 'Ports'} already in use: ${list}. Stop the process that uses ${taken.length === 1 ? 'it' : 'them'}, or use other ports with --port-offset ${offset}.`,
  )
}

/** An offset at which every port of the plan is currently free. */
async function freePortOffset(
  plan: ClusterPlan,
  candidates: Iterable<number> = thousands(),
): Promise<number> {
  const bases = portsInUse(plan).map(({ port }) => port - plan.options.portOffset)
  for (const offset of candidates) {
    const isFree = await Promise.all(bases.map((base) => isPortFree(base + offset, plan.hosts)))
    if (isFree.every(Boolean)) return offset
  }
  throw noFreeOffset()
}

/**
 * An offset at which the ports of a cluster with these options are currently free, reserved until this process ends. Picks
 * a random one, so that concurrent tests do not collide.
 */
export async function pickPortOffset(options: WrittenOptions = {}): Promise<number> {
  return (await reservePortOffset(options)).portOffset
}

/** An offset at which the ports of a cluster are free, and which no other `reservePortOffset` returns until `release`. */
export interface PortReservation {
  readonly portOffset: number
  release(): void
}

/**
 * Picks an offset like `pickPortOffset`, and reserves it among all processes of this machine that call this: a
 * cluster listens on its ports only seconds later.
 */
export async function reservePortOffset(options: WrittenOptions = {}): Promise<PortReservation> {
  const surroundings = { home: homeLayout('.'), dataFolder: '' }
  const unmoved = planCluster(parseOptions({ ...options, portOffset: 0 }), surroundings)
  for (let attempt = 0; attempt < maxReservations; attempt++) {
    const portOffset = await freePortOffset(unmoved, atRandom())
    const release = await reservePorts(portsInUse(unmoved).map(({ port }) => port + portOffset))
    if (release) return { portOffset, release }
  }
  throw noFreeOffset()
}

const noFreeOffset = () => unavailable('Could not find a --port-offset for which all ports are free')

const maxReservations = 100

/**
 * Reserves ports by listening on the UDP ports with the same numbers, which no server of a cluster uses: the system
 * releases them even if this process is killed. Returns how to release them; undefined if one is already reserved.
 */
async function reservePorts(ports: readonly number[]): Promise<(() => void) | undefined> {
  const sockets: Socket[] = []
  const release = () => {
    for (const socket of sockets.splice(0)) socket.close()
  }
  try {
    for (const port of ports) {
      const socket = createSocket('udp4')
      sockets.push(socket)
      socket.bind({ address: '127.0.0.1', port, exclusive: true }).unref()
      await once(socket, 'listening')
    }
    return release
  } catch (error) {
    release()
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return undefined
    throw error
  }
}

/** Keeps all ports below the ephemeral ports, which start at 32768. */
const maxRandomOffset = 16_000

function* atRandom(): Iterable<number> {
  for (let attempt = 0; attempt < 100; attempt++) yield randomInt(1000, maxRandomOffset)
}

function* thousands(): Iterable<number> {
  for (let offset = 1000; offset <= 49000; offset += 1000) yield offset
}

/** Whether a port is free on this machine and on the hosts. */
export async function isPortFree(port: number, hosts: readonly string[]): Promise<boolean> {
  for (const host of new Set(['127.0.0.1', ...hosts])) {
    const server = createServer()
    server.listen(port, host)
    try {
      await once(server, 'listening')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false
      // Not a local address, or a privileged port: the service reports that better.
    }
    server.close()
  }
  return true
}
