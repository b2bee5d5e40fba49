import { once } from 'node:events'
import type { Writable } from 'node:stream'

/** Writes server-sent events to one reader. */
export interface EventWriter {
  /** Whether events can still be written: the reader is connected, and has read the last event in time. */
  readonly isOpen: boolean
  /** Writes an event, and waits until the reader has room for the next one. */
  write(event: { readonly name: string; readonly id?: string; readonly data: object }): Promise<void>
  /** Shows that the stream is alive. */
  writeHeartbeat(): Promise<void>
}

// A reader that takes longer to read its last event is disconnected. It continues later from where it was.
const defaultMaxDrainMs = 15_000

/**
 * Creates a writer, which keeps at most one event in memory. A reader that does not read it in time gets an event with
 * the reason and is disconnected. `signal` is aborted when the reader has left.
 */
export function createEventWriter(
  response: Writable,
  signal: AbortSignal,
  maxDrainMs = defaultMaxDrainMs,
): EventWriter {
  let isSlow = false

  async function send(text: string): Promise<void> {
    if (isSlow || signal.aborted || response.write(text)) return
    const slow = AbortSignal.timeout(maxDrainMs)
    try {
      await once(response, 'drain', { signal: AbortSignal.any([signal, slow]) })
    } catch {
      if (signal.aborted) return
      isSlow = true
      const reason = `The client did not read an event within [${maxDrainMs}] ms. To continue, reconnect with [since] set to the ID of the last event that the client read`
      response.end(textOf({ name: 'end', data: { reason } }))
      // It gets the reason only if it reads on.
      setTimeout(() => response.destroy(), maxDrainMs).unref()
    }
  }

  return {
    get isOpen() {
      return !isSlow && !signal.aborted
    },
    write: (event) => send(textOf(event)),
    writeHeartbeat: () => send(': alive\n\n'),
  }
}

const textOf = ({ name, id, data }: Parameters<EventWriter['write']>[0]): string =>
  `event: ${name}\n${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`
