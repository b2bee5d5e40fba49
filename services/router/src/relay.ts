import type { ServerResponse } from 'node:http'
import type { Dispatcher } from 'undici'

/** How a forwarded request ended: with an answer, or with a redirect from a target that lost leadership. */
export type Relayed = 'answered' | 'moved'

/** Watches a target until it responds. */
export interface Watch {
  /** Returns whether the target is lost. Called once a second until it responds. Undefined for requests that are quick. */
  readonly isLost: (() => boolean) | undefined
  onAborted(error: unknown): void
}

const watchPeriodMs = 1000

/**
 * Forwards a request to a target, and its response to the caller as it arrives. There are no streams in between, because
 * every request through the router goes this way. `headersOf` selects the response headers for the caller. Rejects if the
 * target fails or is lost before it responds. If the response is cut off later, calls `onAborted` and closes the
 * connection to the caller.
 */
export function relay(
  agent: Dispatcher,
  request: Dispatcher.DispatchOptions,
  response: ServerResponse,
  headersOf: (headers: Record<string, string | string[] | undefined>) => Record<string, string | string[]>,
  { isLost, onAborted }: Watch,
): Promise<Relayed> {
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined
    let isMoved = false
    let isOver = false
    const leave = (): void => {
      if (!isOver) controller?.abort(new Error('The caller disconnected'))
    }
    response.once('close', leave)
    const watch =
      isLost &&
      setInterval(() => {
        if (isLost()) controller?.abort(new Error('it missed its heartbeats'))
      }, watchPeriodMs)
    const end = (settle: () => void): void => {
      isOver = true
      clearInterval(watch)
      response.off('close', leave)
      settle()
    }
    agent.dispatch(request, {
      onRequestStart: (started) => {
        controller = started
        if (response.destroyed) leave()
      },
      onResponseStart: (_controller, status, headers) => {
        if (status === 307) isMoved = true
        // Interim responses such as 100 are about the connection to the target.
        else if (status >= 200) {
          clearInterval(watch)
          response.writeHead(status, headersOf(headers))
        }
      },
      onResponseData: (started, chunk) => {
        if (isMoved || response.write(chunk)) return
        started.pause()
        response.once('drain', () => started.resume())
      },
      onResponseEnd: () => {
        end(() => resolve(isMoved ? 'moved' : 'answered'))
        if (!isMoved) response.end()
      },
      onResponseError: (_controller, error) => {
        if (!response.headersSent) return end(() => reject(error))
        // The caller notices the closed connection.
        onAborted(error)
        end(() => resolve('answered'))
        response.destroy()
      },
    })
  })
}
