import { unavailable } from '@svc/domain/failure'
import { Reply, type Route, type RouteInput } from '@svc/shared/http'
import type { ServiceContext } from '@svc/shared/service'
import type { Leadership } from './leadership.ts'

/** Returns the route for the leader only. Other coordinators redirect the caller to the leader. */
export function atLeader(
  leadership: Leadership,
  { discovery, node }: Pick<ServiceContext, 'discovery' | 'node'>,
  route: Route,
): Route {
  return {
    ...route,
    handle: (input) => {
      if (leadership.term() !== undefined) return route.handle(input)
      const leader = discovery.leader('coordinator')
      // Its lease has just expired, and discovery is up to a heartbeat behind: a redirect would lead here again.
      if (leader.node === node().name) throw unavailable('No coordinator leader is available at the moment')
      // Appending the path unchanged to the leader's address means that it cannot redirect to another host.
      const { request, word } = input as RouteInput<unknown, unknown>
      const path = (request.url ?? '/').replace(/^\/svc/, `/${word}`)
      return new Reply(307, undefined, { Location: `${leader.baseUrl}${path}` })
    },
  }
}
