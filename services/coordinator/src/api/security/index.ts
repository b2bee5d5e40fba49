/** Endpoints for users, roles, permissions, and group mappings. */
import type { Route } from '@svc/shared/http'
import type { ServiceContext } from '@svc/shared/service'
import type { DirectoryFollowers } from '../../users/index.ts'
import { securityAuditRoute } from './audit.ts'
import { authenticationRoutes } from './authentication.ts'
import { authorizationRoutes } from './authorization.ts'
import { securityChanges } from './change.ts'
import { explainRoute } from './explain.ts'

/** Returns all endpoints under /svc-ext/basic-security that only the coordinator serves. */
export function securityRoutes(context: ServiceContext, followers: DirectoryFollowers): Route[] {
  const change = securityChanges(context, followers)
  return [
    ...authenticationRoutes(context, change),
    ...authorizationRoutes(context, change),
    explainRoute(context),
    securityAuditRoute(context),
  ]
}
