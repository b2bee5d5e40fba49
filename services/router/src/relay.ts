import type { ServerResponse } from 'node:http'
import type { Dispatcher } from 'undici'

/** How a request that was handed on ended: with an answer, or by a target that leads no longer. */
export type Relayed = 'answered' | 'moved'

/** What is known, and told, of a target beside its answer. */
export interface Watch {
  /** Whether the target is not alive any more: asked once a second until it answers, where that may take long. */
  readonly isLost: (() => boolean) | undefined
  onBrokenOff(error: unknown): void
}

const watchPeriodMs = 1000

/**
 * Hands a request to a target and the answer back to the caller as it comes, without streams in between: this is the way
 * of every request through the router. `headersOf` says which headers of the answer the caller gets. Rejects where no
 * answer has begun, or the target is lost; one that breaks off later breaks off for the caller, which is told to `onBrokenOff`.
 */
export function relay(
  agent: Dispatcher,
  request: Dispatcher.DispatchOptions,
  response: ServerResponse,
  headersOf: (headers: Record<string, string | string[] | undefined>) => Record<string, string | string[]>,
  { isLost, onBrokenOff }: Watch,
): Promise<Relayed> {
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined
    let isMoved = false
    let isOver = false
    const leave = (): void => {
      if (!isOver) controller?.abort(new Error('The caller has left'))
    }
    response.once('close', leave)
    const watch =
      isLost &&
      setInterval(() => {
        if (isLost()) controller?.abort(new Error('it fell silent before it answered'))
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
        // What comes before the answer itself, such as 100, is about the connection to the target.
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
        // The connection tells the caller.
        onBrokenOff(error)
        end(() => resolve('answered'))
        response.destroy()
      },
    })
  })
}
