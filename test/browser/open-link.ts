import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

/** A connection to a server that a test can cut. It is closed after the test, even if the test fails. */
export interface Link {
  /** The URL of the server over this link. */
  readonly url: string
  /** Ends all connections, and refuses new ones. */
  cut(): void
  restore(): void
}

/** Opens a link to a server, given by its URL, for the duration of a test. */
export async function openLink(test: TestContext, to: string): Promise<Link> {
  const target = new URL(to)
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createServer((from) => {
    if (isCut) {
      from.destroy()
      return
    }
    const onward = connect(Number(target.port), target.hostname)
    for (const [socket, other] of [
      [from, onward],
      [onward, from],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
      socket.pipe(other)
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = (): void => {
    isCut = true
    for (const socket of sockets) socket.destroy()
  }
  test.after(() => {
    cut()
    server.close()
  })
  return {
    url: `${target.protocol}//127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    restore: () => {
      isCut = false
    },
  }
}
