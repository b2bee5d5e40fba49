/** The kinds of resources that permissions name. */
export const resourceTypes = [
  'DATASOURCE',
  'STATE',
  'CONFIG',
  'QUERY_CONTEXT',
  'SYSTEM_TABLE',
  'EXTERNAL',
  'VIEW',
] as const

/** A kind of resource. */
export type ResourceType = (typeof resourceTypes)[number]

/** What can be done with a resource. */
export const actions = ['READ', 'WRITE'] as const

/** Something that can be done with a resource; WRITE does not include READ. */
export type Action = (typeof actions)[number]

/** What a role grants: an action on all resources of the type whose whole name matches a regular expression. */
export interface Permission {
  readonly resource: { readonly type: ResourceType; readonly name: string }
  readonly action: Action
}

/** What a request needs: an action on one resource, by its exact name. */
export interface Access {
  readonly type: ResourceType
  readonly name: string
  readonly action: Action
}

/** Turns the text of a regular expression into a test of whole names; passed in, so that any engine will do. */
export type CompilePattern = (pattern: string) => (name: string) => boolean

/** A permission whose pattern is compiled, for many checks. */
export interface CompiledPermission {
  readonly type: ResourceType
  readonly action: Action
  readonly matchesName: (name: string) => boolean
}

/** The permissions ready to be checked; what `compilePattern` throws for a broken pattern passes through. */
export function compilePermissions(
  permissions: readonly Permission[],
  compilePattern: CompilePattern,
): CompiledPermission[] {
  return permissions.map(({ resource, action }) => ({
    type: resource.type,
    action,
    matchesName: compilePattern(resource.name),
  }))
}

/** Whether any of the permissions grants the access. */
export function isAllowed(permissions: readonly CompiledPermission[], access: Access): boolean {
  return permissions.some(
    ({ type, action, matchesName }) =>
      type === access.type && action === access.action && matchesName(access.name),
  )
}
