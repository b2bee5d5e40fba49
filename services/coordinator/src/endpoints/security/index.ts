/** Endpoints for users, roles, permissions, and group mappings. */
import type { Route } from '@svc/shared/http'
import type { ServiceContext } from '@svc/shared/service'
import type { UsersFollowers } from '../../users/index.ts'
import { securityAuditRoute } from './audit-route.ts'
import { authorizationRoutes } from './authorization.ts'
import { securityChanges } from './change-security.ts'
import { explainRoute } from './explain.ts'
import { loginUserRoutes } from './login-user-routes.ts'

/** Returns all endpoints under /svc-ext/basic-security that only the coordinator serves. */
export function securityRoutes(
  context: Pick<ServiceContext, 'settings' | 'database' | 'clock' | 'users' | 'logger'>,
  followers: UsersFollowers,
): Route[] {
  const change = securityChanges(context, followers)
  return [
    ...loginUserRoutes(context, change),
    ...authorizationRoutes(context, change),
    explainRoute(context),
    securityAuditRoute(context),
  ]
}
