import {
  assertKnownFields,
  hasControlCharacter,
  isJsonObject,
  type JsonObject,
  refuse,
} from '../validation/index.ts'
import { type Action, actions, type Permission, resourceTypes } from './permission.ts'

/** Max number of permissions of a role. */
const maxPermissions = 10_000
/**
 * Max total length of the regular expressions of a role, in characters. Every server compiles them for each caller with
 * the role, which takes about a microsecond per character. Names without special characters do not count.
 */
const maxExpressionsLength = 100_000
/** Max length of a resource name pattern, in characters. */
export const maxNamePatternLength = 1024

/** Returns whether a pattern is a plain name, which matches only itself and need not be compiled. */
export const isPlainName = (pattern: string): boolean => /^[\w-]*$/.test(pattern)

/** JSON schema of a permission as clients post it. The case of actions is ignored. */
export const permissionSchema = (): JsonObject => ({
  title: 'Permission',
  type: 'object',
  properties: {
    resource: {
      type: 'object',
      properties: {
        type: { type: 'string', enum: resourceTypes },
        name: { type: 'string', maxLength: maxNamePatternLength, description: 'A regular expression' },
      },
      required: ['type', 'name'],
      additionalProperties: false,
    },
    action: { type: 'string', description: actions.join(' or ') },
  },
  required: ['resource', 'action'],
  additionalProperties: false,
})

/** JSON schema of a permission as the API returns it. */
export const shownPermissionSchema = (): JsonObject => ({
  title: 'ShownPermission',
  type: 'object',
  properties: {
    resourceAction: permissionSchema(),
    resourceNamePattern: { type: 'string' },
  },
  required: ['resourceAction'],
})

/** JSON schema of a list of permissions, as clients post them or as the API returns them. */
export const permissionsSchema = (): JsonObject => ({
  type: 'array',
  items: { anyOf: [permissionSchema(), shownPermissionSchema()] },
  maxItems: maxPermissions,
})

/**
 * Parses a JSON list of permissions, as clients post them or as the API returns them. `isPattern` checks whether a
 * string is a valid regular expression. Throws invalidInput for the first error.
 */
export function parsePermissions(json: unknown, isPattern: (text: string) => boolean): Permission[] {
  if (!Array.isArray(json)) throw refuse('permissions', json, 'a list of permissions')
  if (json.length > maxPermissions)
    throw refuse('permissions', `${json.length} entries`, `a list of at most ${maxPermissions} permissions`)
  let expressionLength = 0
  return json.map((entry, index) => {
    const path = `permissions[${index}]`
    const permission = readPermission(entry, path, isPattern)
    const { name } = permission.resource
    if (!isPlainName(name)) expressionLength += name.length
    if (expressionLength > maxExpressionsLength) {
      throw refuse(
        `${path}.resource.name`,
        name,
        `at most ${maxExpressionsLength} characters of regular expressions across all permissions of a role`,
      )
    }
    return permission
  })
}

function readPermission(json: unknown, path: string, isPattern: (text: string) => boolean): Permission {
  if (!isJsonObject(json)) throw refuse(path, json, 'an object with [resource] and [action]')
  // The API returns the posted permission as [resourceAction], next to its pattern.
  if (isJsonObject(json.resourceAction))
    return readPermission(json.resourceAction, `${path}.resourceAction`, isPattern)
  assertKnownFields(json, ['resource', 'action'], path)
  const { resource } = json
  if (!isJsonObject(resource)) throw refuse(`${path}.resource`, resource, 'an object with [type] and [name]')
  assertKnownFields(resource, ['type', 'name'], `${path}.resource`)
  const type = resourceTypes.find((known) => known === resource.type)
  if (!type) throw refuse(`${path}.resource.type`, resource.type, `one of [${resourceTypes.join(', ')}]`)
  return {
    resource: { name: readName(resource.name, `${path}.resource.name`, isPattern), type },
    action: readAction(json.action, path),
  }
}

function readName(name: unknown, path: string, isPattern: (text: string) => boolean): string {
  if (
    typeof name !== 'string' ||
    name.length > maxNamePatternLength ||
    hasControlCharacter(name) ||
    !isPattern(name)
  ) {
    throw refuse(
      path,
      name,
      `a regular expression of at most ${maxNamePatternLength} characters with repetitions expanded, without control characters`,
    )
  }
  return name
}

/** Like Druid 37, ignores the case of the action. */
function readAction(action: unknown, path: string): Action {
  const known = actions.find((one) => typeof action === 'string' && one === action.toUpperCase())
  if (!known) throw refuse(`${path}.action`, action, `one of [${actions.join(', ')}]`)
  return known
}
