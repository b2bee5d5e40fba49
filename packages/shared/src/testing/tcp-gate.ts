import { connect, createServer, type Server, type Socket } from 'node:net'
import type { Scope } from './temporary.ts'

/** A way to a server that can be cut and mended, as if the server or the network went away. */
export interface TcpGate {
  readonly port: number
  /** Breaks all connections and refuses new ones. */
  cut(): Promise<void>
  /** Lets connections through again. */
  mend(): Promise<void>
  /** Lets nothing pass and breaks nothing, as if the server stood still. */
  freeze(): void
  /** Lets pass what was held up. */
  thaw(): void
}

/** Opens a gate to a port of this machine; it is open at first. */
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
  const mend = async (port: number): Promise<number> => {
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
  const port = await mend(0)
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
    mend: async () => {
      if (!server && !isOver) await mend(port)
    },
  }
}
