import { once } from 'node:events'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

/** Passes requests to an application. While it is replaced, requests wait. */
export interface RequestGate {
  readonly handle: RequestListener
  /** Makes requests wait until `open`. Resolves when no request is in progress, and after `graceMs` at the latest. */
  close(graceMs: number): Promise<void>
  /** Passes requests to an application, first those that wait. */
  open(application: RequestListener): void
}

/** Creates a closed gate. `close` does not wait for requests to `ignoredPath`. */
export function createRequestGate(ignoredPath: string): RequestGate {
  const inProgress = new Set<ServerResponse>()
  let application: RequestListener | undefined
  let waiting: [IncomingMessage, ServerResponse][] = []

  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    if (application === undefined) {
      waiting.push([request, response])
      return
    }
    if (response.destroyed) return
    if (request.url !== ignoredPath) {
      inProgress.add(response)
      response.once('close', () => inProgress.delete(response))
    }
    application(request, response)
  }

  return {
    handle,
    close: async (graceMs) => {
      application = undefined
      const signal = AbortSignal.timeout(graceMs)
      const ended = [...inProgress].map((response) => once(response, 'close', { signal }))
      await Promise.allSettled(ended)
    },
    open: (next) => {
      application = next
      const passed = waiting
      waiting = []
      for (const [request, response] of passed) handle(request, response)
    },
  }
}
