import { setTimeout as delay } from 'node:timers/promises'
import { describeError, Failure } from '@svc/domain/failure'

const defaultPeriodMs = 1000

/** Where a watched text is shown. */
export interface WatchOptions {
  readonly out: Pick<NodeJS.WritableStream, 'write'>
  readonly isRead: () => boolean
  /** Whether a new text replaces the previous one, which only a terminal can do. */
  readonly isInPlace: boolean
  readonly periodMs?: number
}

/**
 * Shows a text each time it changes, until this process is interrupted or nobody reads the output anymore. Shows why if the cluster
 * is unavailable.
 */
export async function watch(
  read: () => Promise<string>,
  { out, isRead, isInPlace, periodMs = defaultPeriodMs }: WatchOptions,
): Promise<void> {
  let shown: string | undefined
  while (isRead()) {
    const text = await read().catch((error: unknown) => {
      if (error instanceof Failure && error.code === 'unavailable') return describeError(error)
      throw error
    })
    if (text !== shown) {
      const lines = shown === undefined ? 0 : shown.split('\n').length
      out.write(`${isInPlace && lines > 0 ? `\u001b[${lines}A\u001b[0J` : ''}${text}\n`)
      shown = text
    }
    await delay(periodMs)
  }
}
