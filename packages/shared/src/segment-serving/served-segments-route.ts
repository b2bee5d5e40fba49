import { unavailable } from '@svc/domain/failure'
import { dataSourceOfId } from '@svc/domain/segment'
import { omittable } from '@svc/domain/validation'
import * as z from 'zod'
import { jsonAnswer, type Route, route, state } from '../http/index.ts'
import { permittedItems } from '../security/index.ts'
import type { ServiceContext } from '../service/index.ts'
import { integerParameter, textParameter } from '../wire/index.ts'
import type { ServedList } from './served-segments.ts'

/** The path at which followers get the segments that a data server serves. */
export const servedSegmentsPath = '/svc-internal/v1/segments'

/** What a follower of a data server gets: the changes since its counter, or the full list. */
export interface ServedSegmentsAnswer {
  readonly counter: { readonly counter: number; readonly hash: string }
  readonly resetCounter: boolean
  readonly requests: readonly { readonly action: 'load' | 'drop'; readonly id: string }[]
}

const sinceQuery = {
  counter: omittable(integerParameter(-1, Number.MAX_SAFE_INTEGER), -1),
  hash: omittable(textParameter, ''),
  timeout: omittable(integerParameter(0, 60_000), 0),
}

/**
 * The endpoint with which brokers follow the segments of a data server (long polling). Callers other than servers see
 * only the datasources that they can read.
 */
export function servedSegmentsRoute(
  { served }: { readonly served: ServedList },
  { settings, stopping }: Pick<ServiceContext, 'settings' | 'stopping'>,
): Route {
  const internalUser = settings.get('svc.escalator.internalClientUsername')
  return route({
    method: 'GET',
    path: servedSegmentsPath,
    access: state('READ'),
    summary: 'List the segments that this server serves, or only the changes since a given counter',
    query: sinceQuery,
    answers: [jsonAnswer(z.looseObject({}))],
    handle: async ({ query, signal, caller }): Promise<ServedSegmentsAnswer> => {
      if (stopping.aborted) throw unavailable('This server is stopping')
      const follows = query.hash === served.session
      if (follows && query.counter === served.sequence && query.timeout > 0) {
        await waitForChange(served.nextChange(), query.timeout, AbortSignal.any([signal, stopping]))
      }
      const since = follows ? served.since(query.counter) : undefined
      const requests = since
        ? since.changes.map(
            ({ id, change }) => ({ action: change === 'loaded' ? 'load' : 'drop', id }) as const,
          )
        : served.ids().map((id) => ({ action: 'load', id }) as const)
      // Later changes are not in this answer, so the counter must not include them.
      const counter = { counter: served.sequence, hash: served.session }
      return {
        counter,
        resetCounter: !since,
        requests:
          caller.identity === internalUser
            ? requests
            : await permittedItems(caller, requests, ({ id }) => dataSourceOfId(id), 'SEE'),
      }
    },
  })
}

/** Waits for a change, the timeout, the end of the request, or the stop of this server, whichever comes first. */
async function waitForChange(
  change: { readonly happened: Promise<void>; cancel(): void },
  timeoutMs: number,
  signal: AbortSignal,
): Promise<void> {
  let end: () => void = () => undefined
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const timer = setTimeout(end, timeoutMs)
  if (signal.aborted) end()
  signal.addEventListener('abort', end, { once: true })
  await Promise.race([change.happened, ended])
  clearTimeout(timer)
  change.cancel()
}
