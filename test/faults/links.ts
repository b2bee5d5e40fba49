import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/**
 * State of a link: `cut` blocks all data but keeps connections open, as a network failure does; `torn` breaks
 * connections.
 */
export type LinkState = 'sound' | 'cut' | 'slow' | 'torn'

const slowMs = 200

/** A proxy from one process to a port of this machine. */
export class Link {
  private readonly targetPort: number
  private readonly server: Server
  private readonly sockets = new Set<Socket>()
  private currentState: LinkState = 'sound'
  private opened: PromiseWithResolvers<void> | undefined

  private constructor(targetPort: number) {
    this.targetPort = targetPort
    this.server = createServer({ allowHalfOpen: true }, (socket) => void this.join(socket))
  }

  static async open(targetPort: number): Promise<Link> {
    const link = new Link(targetPort)
    link.server.listen(0, '127.0.0.1')
    await once(link.server, 'listening')
    return link
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port
  }

  set state(state: LinkState) {
    this.currentState = state
    if (state === 'cut') this.opened ??= Promise.withResolvers()
    else {
      this.opened?.resolve()
      this.opened = undefined
    }
  }

  close(): void {
    this.state = 'sound'
    this.server.close()
    for (const socket of this.sockets) socket.destroy()
  }

  private async join(from: Socket): Promise<void> {
    this.follow(from)
    await this.opened?.promise
    if (from.destroyed) return
    const to = connect({ port: this.targetPort, host: '127.0.0.1', allowHalfOpen: true })
    this.follow(to)
    for (const [socket, other] of [
      [from, to],
      [to, from],
    ] as const) {
      socket.once('close', () => void this.afterCut(() => other.destroy()))
      void this.pump(socket, other).catch(() => other.destroy())
    }
  }

  private follow(socket: Socket): void {
    this.sockets.add(socket)
    // Notify the side that is waiting for it.
    socket.on('error', () => undefined)
    socket.once('close', () => this.sockets.delete(socket))
  }

  /** Through a cut link, neither side learns that the other one has closed. */
  private async afterCut(act: () => void): Promise<void> {
    await this.opened?.promise
    act()
  }

  private async pump(from: Socket, to: Socket): Promise<void> {
    for await (const chunk of from as AsyncIterable<Buffer>) {
      await this.opened?.promise
      if (this.currentState === 'slow') await delay(slowMs)
      if (this.currentState === 'torn') {
        to.write(chunk.subarray(0, chunk.length >> 1))
        from.resetAndDestroy()
        to.resetAndDestroy()
        return
      }
      if (!to.write(chunk) && !to.destroyed) await Promise.race([once(to, 'drain'), once(to, 'close')])
    }
    await this.afterCut(() => to.end())
  }
}
