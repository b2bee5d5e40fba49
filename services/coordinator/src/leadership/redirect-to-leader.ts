import { Reply, type Route, type RouteInput } from '@svc/shared/http'
import type { ServiceContext } from '@svc/shared/service'
import type { Leadership } from './leadership.ts'

/** Returns the route for the leader only. Other coordinators redirect the caller to the leader. */
export function atLeader(
  leadership: Leadership,
  { discovery }: Pick<ServiceContext, 'discovery'>,
  route: Route,
): Route {
  return {
    ...route,
    handle: (input) => {
      if (leadership.term() !== undefined) return route.handle(input)
      const { baseUrl } = discovery.leader('coordinator')
      // Appending the path unchanged to the leader's address means that it cannot redirect to another host.
      const { request, word } = input as RouteInput<unknown, unknown>
      const path = (request.url ?? '/').replace(/^\/svc/, `/${word}`)
      return new Reply(307, undefined, { Location: `${baseUrl}${path}` })
    },
  }
}
