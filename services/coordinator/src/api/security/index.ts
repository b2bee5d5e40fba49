/** Users, roles, permissions and group mappings, as endpoints. */
import type { Route } from '@svc/shared/http'
import type { ServiceContext } from '@svc/shared/service'
import { authenticationRoutes } from './authentication.ts'
import { authorizationRoutes } from './authorization.ts'
import { securityChanges } from './change.ts'

/** All endpoints below /svc-ext/basic-security that only the coordinator answers. */
export function securityRoutes(context: ServiceContext): Route[] {
  const change = securityChanges(context)
  return [...authenticationRoutes(context, change), ...authorizationRoutes(context, change)]
}
