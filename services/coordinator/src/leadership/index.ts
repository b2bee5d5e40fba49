/** Routes requests to the leader, and provides the term (fencing token) of this server while it is the leader. */
import type { Election } from '@svc/shared/discovery'
import { Reply, type Route, type RouteInput } from '@svc/shared/http'
import type { ServiceContext } from '@svc/shared/service'

/** The term (fencing token) of this server while it is the leader. */
export interface Leadership {
  term(): number | undefined
}

/** Creates a leadership that has no term until it follows an election. */
export function createLeadership(): Leadership & { follow(election: Election): void } {
  let election: Election | undefined
  return {
    term: () => election?.term(),
    follow: (started) => {
      election = started
    },
  }
}

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
