import { emptyAnswer, type Route, route, securityConfig } from '@svc/shared/http'
import type { ServiceContext } from '@svc/shared/service'

/** Returns the endpoint that refreshes the users and roles of this server. */
export const refreshRoute = (
  kind: 'authentication' | 'authorization',
  { users }: Pick<ServiceContext, 'users'>,
): Route =>
  route({
    method: 'GET',
    path: `/svc-ext/basic-security/${kind}/refreshAll`,
    access: securityConfig('READ'),
    summary: 'Refresh users and roles; never needed, because every change reaches all servers automatically',
    answers: [emptyAnswer],
    handle: () => users().refresh(),
  })
