import * as real from 'node:timers/promises'
import { currentProcess } from '../kernel/index.ts'

interface Options {
  readonly signal?: AbortSignal
}

/** Resolves after a delay. Rejects with an AbortError if the signal is aborted first. */
export function setTimeout<Value>(delayMs: number, value?: Value, { signal }: Options = {}): Promise<Value> {
  if (currentProcess() === undefined) return real.setTimeout(delayMs, value, { ...(signal && { signal }) })
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      clearTimeout(timer)
      reject(new DOMException('The operation was aborted', 'AbortError'))
    }
    const timer = globalThis.setTimeout(() => {
      signal?.removeEventListener('abort', leave)
      resolve(value as Value)
    }, delayMs)
    if (signal?.aborted) leave()
    else signal?.addEventListener('abort', leave, { once: true })
  })
}

/** Resolves once other work has run. */
export function setImmediate<Value>(value?: Value): Promise<Value> {
  if (currentProcess() === undefined) return real.setImmediate(value)
  return new Promise((resolve) => globalThis.setImmediate(() => resolve(value as Value)))
}
