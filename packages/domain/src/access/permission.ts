/** The types of resources in permissions. */
export const resourceTypes = [
  'DATASOURCE',
  'STATE',
  'CONFIG',
  'QUERY_CONTEXT',
  'SYSTEM_TABLE',
  'EXTERNAL',
  'VIEW',
] as const

/** A type of resource. */
export type ResourceType = (typeof resourceTypes)[number]

/** The actions on a resource. */
export const actions = ['READ', 'WRITE'] as const

/** An action on a resource. WRITE does not include READ. */
export type Action = (typeof actions)[number]

/** Grants an action on all resources of a type whose full name matches a regular expression. */
export interface Permission {
  readonly resource: { readonly type: ResourceType; readonly name: string }
  readonly action: Action
}

/** The access that a request needs: an action on one resource, by its exact name. */
export interface Access {
  readonly type: ResourceType
  readonly name: string
  readonly action: Action
}

/** Servers need these permissions to call each other. Without them, a cluster stops working. */
export const internalNeeds: readonly Access[] = [
  { action: 'READ', type: 'STATE', name: 'STATE' },
  { action: 'WRITE', type: 'STATE', name: 'STATE' },
  { action: 'READ', type: 'CONFIG', name: 'CONFIG' },
]

/** Compiles a regular expression into a test of full names. Callers choose the engine. */
export type CompilePattern = (pattern: string) => (name: string) => boolean

/** A permission with a compiled pattern, for repeated checks. */
export interface CompiledPermission {
  readonly type: ResourceType
  readonly action: Action
  readonly matchesName: (name: string) => boolean
  /** Whether it grants changes to users, roles, and mappings: its pattern must require every letter of `security`. */
  readonly isForSecurity: boolean
}

/** The CONFIG resource that represents users, roles, and mappings. */
export const securityResource = 'security'

const printableCharacters = Array.from({ length: 0x7f - 0x20 }, (_, index) =>
  String.fromCharCode(0x20 + index),
)

/**
 * Every variant of `security` with one character replaced or omitted. A pattern that matches a variant does not require
 * that character. Changing the case of a letter does not count as replacing it.
 */
const misspelledNames: readonly string[] = Array.from(securityResource).flatMap((letter, index) =>
  ['', 'ü', '語', ...printableCharacters]
    .filter((other) => other.toLowerCase() !== letter)
    .map((other) => securityResource.slice(0, index) + other + securityResource.slice(index + 1)),
)

/** Options that change how permissions are checked. */
export interface CompileOptions {
  /** As in Druid 37, any pattern that matches `security` grants changes to users and roles. */
  readonly compatibility?: boolean
}

/** Compiles a permission for checks. Errors that `compilePattern` throws for an invalid pattern are passed on. */
export function compilePermission(
  { resource, action }: Permission,
  compilePattern: CompilePattern,
  { compatibility = false }: CompileOptions = {},
): CompiledPermission {
  const matchesName = compilePattern(resource.name)
  // Trying all variants is slow, so skip permissions that cannot grant this access anyway.
  const mayChangeSecurity = resource.type === 'CONFIG' && action === 'WRITE' && matchesName(securityResource)
  return {
    type: resource.type,
    action,
    matchesName,
    isForSecurity: mayChangeSecurity && (compatibility || !misspelledNames.some(matchesName)),
  }
}

/**
 * Whether any of the permissions grants the access. Changing users and roles requires a pattern that names `security`
 * explicitly: permission to write every configuration does not make a user an administrator.
 */
export function isAllowed(permissions: readonly CompiledPermission[], access: Access): boolean {
  return permissions.some((permission) => grants(permission, access))
}

/** Whether this permission grants the access. */
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
