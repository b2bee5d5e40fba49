import { eventsOf } from './event-stream.ts'
import type { ClusterChanges, ClusterEvent } from './messages.ts'

/** How the follower reaches the cluster, and what it reports. */
interface Connection {
  /** Opens the stream of changes after an event. Throws with a `status` if the cluster refuses. */
  open(since: string | undefined, signal: AbortSignal): Promise<Response>
  report(event: ClusterEvent): void
}

// The coordinator sends a heartbeat every 10 seconds.
const maxSilenceMs = 25_000
const firstPauseMs = 500
const maxPauseMs = 4000

/** Follows the changes of the cluster. A lost connection is reported, and continues after the last event. */
export class Follower {
  private readonly connection: Connection
  private last: string | undefined
  private stopping: AbortController | undefined

  constructor(connection: Connection) {
    this.connection = connection
  }

  /** Starts to follow, unless it already does. */
  start(): void {
    if (this.stopping !== undefined) return
    this.stopping = new AbortController()
    void this.follow(this.stopping.signal)
  }

  /** Stops. The next start continues after the last event. */
  stop(): void {
    this.stopping?.abort()
    this.stopping = undefined
  }

  private async follow(signal: AbortSignal): Promise<void> {
    let pauseMs = firstPauseMs
    while (!signal.aborted) {
      try {
        await this.readStream(signal)
        // It ended in order, so the next one continues soon.
        pauseMs = firstPauseMs
      } catch (error) {
        if (signal.aborted) return
        const { status, message } = error as Error & { readonly status?: number }
        this.connection.report({ kind: 'lost', status: status ?? 0, message })
        if (status === 401) return this.stop()
      }
      await pause(pauseMs, signal)
      pauseMs = Math.min(maxPauseMs, 2 * pauseMs)
    }
  }

  /** Reads a stream until it ends in order. Throws if it is interrupted. */
  private async readStream(signal: AbortSignal): Promise<void> {
    const silence = new AbortController()
    const giveUp = (): void => silence.abort(new Error('The cluster has not responded for 25 seconds.'))
    let timer = setTimeout(giveUp, maxSilenceMs)
    try {
      const response = await this.connection.open(this.last, AbortSignal.any([signal, silence.signal]))
      this.connection.report({ kind: 'connected' })
      for await (const event of eventsOf(response.body!)) {
        clearTimeout(timer)
        timer = setTimeout(giveUp, maxSilenceMs)
        this.last = event?.id ?? this.last
        if (event?.name === 'changes')
          this.connection.report({ kind: 'changes', changes: JSON.parse(event.data) as ClusterChanges })
        // The first event of a stream that must begin again is its only one.
        else if (event?.name === 'reset' || event?.name === 'start')
          return this.connection.report({ kind: 'reset' })
        else if (event?.name === 'end') return
      }
      throw new Error('The stream of changes was interrupted.')
    } finally {
      clearTimeout(timer)
      silence.abort()
    }
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
