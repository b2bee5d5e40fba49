import {
  type AuthorizerRoles,
  type Permission,
  permissionSchema,
  shownPermissionSchema,
} from '@svc/domain/access'
import type { ValuesOf } from '@svc/domain/validation'
import { shapeOf } from '@svc/shared/http'
import { namesShape } from '@svc/shared/shapes'
import { presence } from '@svc/shared/wire'
import * as z from 'zod'

/** The query parameters that decide how roles and permissions are shown. */
export const viewQuery = { full: presence, simplifyPermissions: presence }
export type View = ValuesOf<typeof viewQuery>

export const permissionsShape = z.array(z.union([shapeOf(shownPermissionSchema), shapeOf(permissionSchema)]))

export const roleShape = z
  .object({
    name: z.string(),
    users: namesShape.nullish(),
    groups: namesShape.optional(),
    permissions: permissionsShape,
  })
  .meta({ title: 'Role', description: 'Users and group mappings are included only with `full`' })

/** Roles by name or, on request, in full. */
export const rolesShape = z.union([namesShape, z.array(roleShape)])

/** Returns permissions in the format of Druid 37: wrapped, or plain if they are simplified. */
export function showPermissions(
  permissions: readonly Permission[],
  { simplifyPermissions }: View,
): unknown[] {
  if (simplifyPermissions) return [...permissions]
  return permissions.map((permission) => ({
    resourceAction: permission,
    resourceNamePattern: permission.resource.name,
  }))
}

/** Returns a role of a user or group mapping with its permissions. */
export function fullRole(stored: AuthorizerRoles, name: string, view: View) {
  const permissions = showPermissions(stored.roles[name] ?? [], view)
  return view.simplifyPermissions ? { name, users: null, permissions } : { name, permissions }
}
