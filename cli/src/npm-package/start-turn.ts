import { once } from 'node:events'
import { createServer, type ListenOptions, type Server } from 'node:net'
import { availableParallelism } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'

// Below the ports of clusters.
const firstPort = 7911
const maxTurns = 8
const pollMs = 100
/** After this time, a start goes ahead without a turn. */
const maxWaitMs = 150_000

/**
 * Waits until at most one cluster per processor of this machine is starting: more at the same time would all time out. Returns
 * a function that ends the turn. A turn is an open socket, so it also ends with its process, and leaves nothing behind.
 */
export async function takeStartTurn(
  signal: AbortSignal,
  turns = Math.min(availableParallelism(), maxTurns),
): Promise<() => void> {
  const deadline = performance.now() + maxWaitMs
  while (performance.now() < deadline) {
    for (let turn = 0; turn < turns; turn++) {
      const server = await tryListen(addressOf(turn))
      if (server) return () => server.close()
    }
    await delay(pollMs, undefined, { signal })
  }
  return () => undefined
}

/** Linux has names for sockets, which no other program uses. Elsewhere, a program that uses a port takes a turn. */
function addressOf(turn: number): ListenOptions {
  return process.platform === 'linux'
    ? { path: `\0svc-start-turn-${turn}` }
    : { host: '127.0.0.1', port: firstPort + turn, exclusive: true }
}

/** Returns undefined if the address is in use. Where the system permits no such socket, no start waits. */
async function tryListen(address: ListenOptions): Promise<Server | undefined> {
  const server = createServer((socket) => socket.destroy()).listen(address)
  try {
    await once(server, 'listening')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return undefined
  }
  return server
}
