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
  /** Whether it grants changes of users, roles and mappings: its pattern asks for each letter of their name. */
  readonly isForSecurity: boolean
}

/** The resource that stands for users, roles and mappings, of type CONFIG. */
export const securityResource = 'security'

const printableCharacters = Array.from({ length: 0x7f - 0x20 }, (_, index) =>
  String.fromCharCode(0x20 + index),
)

/**
 * `security` with one letter replaced, by each other letter, digit and sign in turn, or left out: a pattern that matches
 * any of them does not ask for that letter. The same letter in another case is no other one.
 */
const misspelledNames: readonly string[] = Array.from(securityResource).flatMap((letter, index) =>
  ['', 'ü', '語', ...printableCharacters]
    .filter((other) => other.toLowerCase() !== letter)
    .map((other) => securityResource.slice(0, index) + other + securityResource.slice(index + 1)),
)

/** What makes checks differ from the recorded ones. */
export interface CompileOptions {
  /** Any pattern that matches `security` grants changes of users and roles, as in the recorded system. */
  readonly compatibility?: boolean
}

/** The permissions ready to be checked; what `compilePattern` throws for a broken pattern passes through. */
export function compilePermissions(
  permissions: readonly Permission[],
  compilePattern: CompilePattern,
  { compatibility = false }: CompileOptions = {},
): CompiledPermission[] {
  return permissions.map(({ resource, action }) => {
    const matchesName = compilePattern(resource.name)
    // Others are never asked for it, and trying all of these takes a moment.
    const mayChangeSecurity =
      resource.type === 'CONFIG' && action === 'WRITE' && matchesName(securityResource)
    return {
      type: resource.type,
      action,
      matchesName,
      isForSecurity: mayChangeSecurity && (compatibility || !misspelledNames.some(matchesName)),
    }
  })
}

/**
 * Whether any of the permissions grants the access. Changing users and roles takes a pattern that is meant for that:
 * whoever may write every configuration is not an administrator by it.
 */
export function isAllowed(permissions: readonly CompiledPermission[], access: Access): boolean {
  return permissions.some((permission) => grants(permission, access))
}

/** Whether this one permission grants the access. */
export function grants(permission: CompiledPermission, access: Access): boolean {
  const { type, action, matchesName, isForSecurity } = permission
  const changesSecurity =
    access.action === 'WRITE' && access.type === 'CONFIG' && access.name === securityResource
  return (
    type === access.type &&
    action === access.action &&
    matchesName(access.name) &&
    (isForSecurity || !changesSecurity)
  )
}
