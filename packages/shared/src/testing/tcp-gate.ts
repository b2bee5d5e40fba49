import { connect, createServer, type Server, type Socket } from 'node:net'
import type { Scope } from './temporary.ts'

/** A TCP proxy to a server that can be cut and reconnected, as if the server or the network were down. */
export interface TcpGate {
  readonly port: number
  /** Closes all connections and refuses new ones. */
  cut(): Promise<void>
  /** Accepts connections again. */
  reconnect(): Promise<void>
  /** Holds all data back without closing connections, as if the server were frozen. */
  freeze(): void
  /** Forwards the data that was held back. */
  thaw(): void
}

/** Opens a gate to a local port. It initially accepts connections. */
export async function startTcpGate(scope: Scope, targetPort: number): Promise<TcpGate> {
  const sockets = new Set<Socket>()
  const held = new Set<() => void>()
  let isFrozen = false
  const join = (from: Socket): void => {
    const to = connect(targetPort, '127.0.0.1')
    for (const [socket, other] of [
      [from, to],
      [to, from],
    ] as const) {
      sockets.add(socket)
      socket.once('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
      socket.on('error', () => other.destroy())
      socket.on('data', (bytes: Buffer) => {
        if (isFrozen) held.add(() => other.write(bytes))
        else other.write(bytes)
      })
      socket.on('end', () => other.end())
    }
  }
  let server: Server | undefined
  const reconnect = async (port: number): Promise<number> => {
    const opened = createServer(join)
    await new Promise<void>((resolve, reject) => {
      opened.once('error', reject)
      opened.listen(port, '127.0.0.1', resolve)
    })
    server = opened
    return (opened.address() as { port: number }).port
  }
  const cut = async (): Promise<void> => {
    const closed = new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined)))
    for (const socket of sockets) socket.destroy()
    held.clear()
    await closed
    server = undefined
  }
  let isOver = false
  const port = await reconnect(0)
  scope.after(async () => {
    isOver = true
    await cut()
  })
  return {
    port,
    cut,
    freeze: () => {
      isFrozen = true
    },
    thaw: () => {
      isFrozen = false
      for (const pass of held) pass()
      held.clear()
    },
    reconnect: async () => {
      if (!server && !isOver) await reconnect(port)
    },
  }
}
