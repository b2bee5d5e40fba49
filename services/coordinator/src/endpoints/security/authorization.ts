import { permissionSchema } from '@svc/domain/access'
import { jsonAnswer, type Route, route, securityConfig, shapeOf } from '@svc/shared/http'
import type { ServiceContext } from '@svc/shared/service'
import { namesShape } from '@svc/shared/shapes'
import * as z from 'zod'
import { authorizerUserRoutes } from './authorizer-user-routes.ts'
import { type Authorizers, authorizerPath, openAuthorizers } from './authorizers.ts'
import type { ChangeSecurity } from './change-security.ts'
import { groupMappingRoutes } from './group-mapping-routes.ts'
import { refreshRoute } from './refresh-route.ts'
import { roleRoutes } from './role-routes.ts'

/** Returns the endpoints for the users, roles, permissions, and group mappings of authorizers. */
export function authorizationRoutes(
  context: Pick<ServiceContext, 'settings' | 'database' | 'users'>,
  change: ChangeSecurity,
): Route[] {
  const authorizers = openAuthorizers(context, change)
  return [
    ...authorizerUserRoutes(authorizers),
    ...roleRoutes(authorizers),
    ...groupMappingRoutes(authorizers),
    ...cachedMapRoutes(authorizers),
    refreshRoute('authorization', context),
  ]
}

const roleMapShape = z.record(z.string(), z.array(shapeOf(permissionSchema)))

/** Returns the endpoints that show users, roles, and group mappings as servers cache them. */
function cachedMapRoutes(authorizers: Authorizers): Route[] {
  return [
    route({
      method: 'GET',
      path: `${authorizerPath}/cachedSerializedUserMap`,
      access: securityConfig('READ'),
      summary: 'Get users and roles in the form that servers cache',
      answers: [jsonAnswer(z.object({ userMap: z.record(z.string(), namesShape), roleMap: roleMapShape }))],
      handle: async (input) => {
        const { users, roles } = await authorizers.load(input)
        return { userMap: users, roleMap: roles }
      },
    }),
    route({
      method: 'GET',
      path: `${authorizerPath}/cachedSerializedGroupMappingMap`,
      access: securityConfig('READ'),
      summary: 'Get group mappings and roles in the form that servers cache',
      answers: [
        jsonAnswer(
          z.object({
            groupMappingMap: z.record(z.string(), z.object({ groupPattern: z.string(), roles: namesShape })),
            roleMap: roleMapShape,
          }),
        ),
      ],
      handle: async (input) => {
        const { groupMappings, roles } = await authorizers.load(input)
        return { groupMappingMap: groupMappings, roleMap: roles }
      },
    }),
  ]
}
