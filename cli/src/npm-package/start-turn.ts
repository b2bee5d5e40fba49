import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { availableParallelism } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'

// Below the ports of clusters. A program that happens to use one of them only reduces the number of turns.
const firstPort = 7911
const maxTurns = 8
const pollMs = 100
/** After this time, a start goes ahead without a turn. */
const maxWaitMs = 150_000

/**
 * Waits until at most one cluster per processor of this machine is starting: more at the same time would all time out. Returns
 * a function that ends the turn. A turn is an open port, so it also ends with its process, and leaves nothing behind.
 */
export async function takeStartTurn(
  signal: AbortSignal,
  turns = Math.min(availableParallelism(), maxTurns),
): Promise<() => void> {
  const deadline = performance.now() + maxWaitMs
  while (performance.now() < deadline) {
    for (let turn = 0; turn < turns; turn++) {
      const server = await tryListen(firstPort + turn)
      if (server) return () => server.close()
    }
    await delay(pollMs, undefined, { signal })
  }
  return () => undefined
}

/** Returns undefined if the port is in use. */
async function tryListen(port: number): Promise<Server | undefined> {
  const server = createServer((socket) => socket.destroy()).listen({
    host: '127.0.0.1',
    port,
    exclusive: true,
  })
  try {
    await once(server, 'listening')
    return server
  } catch {
    return undefined
  }
}
