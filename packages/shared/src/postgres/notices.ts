import pg from 'pg'

/** Receives the payload of a notification, or undefined after a reconnect, because notifications may have been missed. */
export type OnNotice = (payload: string | undefined) => void

/** Listens for notifications on a channel until it is closed. */
export interface Listener {
  /**
   * Waits until each notification has been received whose transaction was committed before this call. Without a connection, calls back
   * with undefined instead: the notifications may have been missed.
   */
  catchUp(): Promise<void>
  close(): Promise<void>
}

interface Connection {
  readonly client: pg.Client
  /** Resolves when it has connected and listens on the channels that were known by then. */
  readonly ready: Promise<void>
  isReady: boolean
}

const reconnectDelayMs = 250
// A connection that gets no response within this time is replaced.
const catchUpQuery = { text: 'SELECT 1', query_timeout: 1000 }

/** The listeners of a server. They share a connection that is open while there are any, and reconnects when it breaks. */
export class Notices {
  private readonly settings: pg.ClientConfig
  private readonly listeners = new Map<string, Set<OnNotice>>()
  private current: Connection | undefined
  private mayHaveMissed = false

  constructor(settings: pg.ClientConfig) {
    this.settings = settings
  }

  async listen(channel: string, onNotice: OnNotice): Promise<Listener> {
    // Each call is a listener of its own, even if it has the same function as another one.
    const listener: OnNotice = (payload) => onNotice(payload)
    this.listeners.set(channel, (this.listeners.get(channel) ?? new Set()).add(listener))
    try {
      if (this.current === undefined) {
        await this.connect().ready
      } else {
        const { client, ready } = this.current
        await ready
        await client.query(`LISTEN ${channel}`)
      }
    } catch (error) {
      await this.remove(channel, listener)
      throw error
    }
    return { catchUp: () => this.catchUp(listener), close: () => this.remove(channel, listener) }
  }

  async close(): Promise<void> {
    this.listeners.clear()
    await this.disconnect()
  }

  private connect(): Connection {
    const client = new pg.Client({ ...this.settings, keepAlive: true })
    client.on('notification', ({ channel, payload }) => {
      for (const onNotice of this.listeners.get(channel) ?? []) onNotice(payload ?? '')
    })
    for (const event of ['error', 'end'] as const) client.on(event, () => this.replace(client))
    const ready = client.connect().then(async () => {
      await client.query([...this.listeners.keys()].map((channel) => `LISTEN ${channel}`).join('; '))
      connection.isReady = true
      if (this.mayHaveMissed)
        for (const listener of [...this.listeners.values()].flatMap((all) => [...all])) listener(undefined)
      this.mayHaveMissed = false
    })
    ready.catch(() => this.replace(client))
    const connection: Connection = { client, ready, isReady: false }
    this.current = connection
    return connection
  }

  /** Drops a broken connection, and soon opens another one for the remaining listeners. */
  private replace(broken: pg.Client): void {
    if (this.current?.client !== broken) return
    this.current = undefined
    this.mayHaveMissed = true
    broken.end().catch(() => undefined)
    setTimeout(() => {
      if (this.listeners.size > 0 && this.current === undefined) this.connect()
    }, reconnectDelayMs).unref()
  }

  private async catchUp(onNotice: OnNotice): Promise<void> {
    const { current } = this
    if (!current?.isReady) return onNotice(undefined)
    try {
      // A commit notifies the listening connections before it is acknowledged, and Postgres sends pending notifications before
      // it finishes a response.
      await current.client.query(catchUpQuery)
    } catch {
      onNotice(undefined)
      this.replace(current.client)
    }
  }

  /** Removes a listener. Without any, the connection closes. */
  private async remove(channel: string, onNotice: OnNotice): Promise<void> {
    const ofChannel = this.listeners.get(channel)
    if (!ofChannel?.delete(onNotice)) return
    if (ofChannel.size === 0) this.listeners.delete(channel)
    if (this.listeners.size === 0) await this.disconnect()
    else if (ofChannel.size === 0)
      await this.current?.client.query(`UNLISTEN ${channel}`).catch(() => undefined)
  }

  private async disconnect(): Promise<void> {
    const last = this.current
    this.current = undefined
    this.mayHaveMissed = false
    await last?.client.end().catch(() => undefined)
  }
}
