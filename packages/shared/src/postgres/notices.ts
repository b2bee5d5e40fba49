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

/** Notifications of the metadata store on any number of channels, over one connection. */
export interface Notices {
  listen(channel: string, onNotice: OnNotice): Promise<Listener>
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

/** Creates the listeners of a server. They share a connection that is open while there are any, and reconnects when it breaks. */
export function createNotices(settings: pg.ClientConfig): Notices {
  const listeners = new Map<string, Set<OnNotice>>()
  let current: Connection | undefined
  let mayHaveMissed = false

  function connect(): Connection {
    const client = createClient(settings, listeners, replace)
    const ready = client.connect().then(async () => {
      await client.query([...listeners.keys()].map((channel) => `LISTEN ${channel}`).join('; '))
      connection.isReady = true
      if (mayHaveMissed)
        for (const listener of [...listeners.values()].flatMap((all) => [...all])) listener(undefined)
      mayHaveMissed = false
    })
    ready.catch(() => replace(client))
    const connection: Connection = { client, ready, isReady: false }
    current = connection
    return connection
  }

  /** Drops a broken connection, and soon opens another one for the remaining listeners. */
  function replace(broken: pg.Client): void {
    if (current?.client !== broken) return
    current = undefined
    mayHaveMissed = true
    broken.end().catch(() => undefined)
    setTimeout(() => {
      if (listeners.size > 0 && current === undefined) connect()
    }, reconnectDelayMs).unref()
  }

  /** Removes a listener. Without any, the connection closes. */
  async function remove(channel: string, onNotice: OnNotice): Promise<void> {
    const ofChannel = listeners.get(channel)
    if (!ofChannel?.delete(onNotice)) return
    if (ofChannel.size === 0) listeners.delete(channel)
    if (listeners.size === 0) await disconnect()
    else if (ofChannel.size === 0) await current?.client.query(`UNLISTEN ${channel}`).catch(() => undefined)
  }

  async function catchUp(onNotice: OnNotice): Promise<void> {
    const connection = current
    if (!connection?.isReady) return onNotice(undefined)
    try {
      // A commit notifies the listening connections before it is acknowledged, and Postgres sends pending notifications before
      // it finishes a response.
      await connection.client.query(catchUpQuery)
    } catch {
      onNotice(undefined)
      replace(connection.client)
    }
  }

  async function disconnect(): Promise<void> {
    const last = current
    current = undefined
    mayHaveMissed = false
    await last?.client.end().catch(() => undefined)
  }

  return {
    listen: async (channel, onNotice) => {
      // Each call is a listener of its own, even if it has the same function as another one.
      const listener: OnNotice = (payload) => onNotice(payload)
      listeners.set(channel, (listeners.get(channel) ?? new Set()).add(listener))
      try {
        if (current === undefined) {
          await connect().ready
        } else {
          const { client, ready } = current
          await ready
          await client.query(`LISTEN ${channel}`)
        }
      } catch (error) {
        await remove(channel, listener)
        throw error
      }
      return { catchUp: () => catchUp(listener), close: () => remove(channel, listener) }
    },
    close: async () => {
      listeners.clear()
      await disconnect()
    },
  }
}

/** Creates a client that passes notifications to the listeners of their channel. Calls `onBroken` when its connection breaks. */
function createClient(
  settings: pg.ClientConfig,
  listeners: ReadonlyMap<string, ReadonlySet<OnNotice>>,
  onBroken: (client: pg.Client) => void,
): pg.Client {
  const client = new pg.Client({ ...settings, keepAlive: true })
  client.on('notification', ({ channel, payload }) => {
    for (const onNotice of listeners.get(channel) ?? []) onNotice(payload ?? '')
  })
  for (const event of ['error', 'end'] as const) client.on(event, () => onBroken(client))
  return client
}
