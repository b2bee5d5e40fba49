/** How a change is left to the leader: the fencing number of this server, and the way to the leader where it has none. */
import type { Election } from '@svc/shared/discovery'
import { Reply, type Route, type RouteInput } from '@svc/shared/http'
import type { ServiceContext } from '@svc/shared/service'

/** The fencing number while this server leads; for requests, a way to the leader where it does not. */
export interface Leadership {
  term(): number | undefined
}

/** Leadership that begins when the election does. */
export function createLeadership(): Leadership & { follow(election: Election): void } {
  let election: Election | undefined
  return {
    term: () => election?.term(),
    follow: (started) => {
      election = started
    },
  }
}

/** The route, answered by the leader only: other coordinators send their callers to it. */
export function atLeader(leadership: Leadership, context: ServiceContext, route: Route): Route {
  return {
    ...route,
    handle: (input) => {
      if (leadership.term() !== undefined) return route.handle(input)
      const { baseUrl } = context.discovery.leader('coordinator')
      // The path is taken as it came and put behind the leader's address: it can name no other host.
      const { request, word } = input as RouteInput<unknown, unknown>
      const path = (request.url ?? '/').replace(/^\/svc/, `/${word}`)
      return new Reply(307, undefined, { Location: `${baseUrl}${path}` })
    },
  }
}
