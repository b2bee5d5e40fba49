import { hasControlCharacter, isJsonObject, type JsonObject, refuse } from '../validation/index.ts'
import { type Action, actions, type Permission, resourceTypes } from './permission.ts'

/** Permissions that one role may hold. */
const mostPermissions = 10_000
/**
 * Max length of all regular expressions of a role. Every server compiles them for each caller with the role, which takes
 * about a microsecond per character; names without special characters cost nothing.
 */
const maxExpressionsLength = 100_000
const plainName = /^[\w-]*$/
/** Longest pattern of a resource name. */
export const longestNamePattern = 1024

/** The JSON schema of a permission as it is posted; actions are taken in any case of letters. */
export const permissionSchema = (): JsonObject => ({
  title: 'Permission',
  type: 'object',
  properties: {
    resource: {
      type: 'object',
      properties: {
        type: { type: 'string', enum: resourceTypes },
        name: { type: 'string', maxLength: longestNamePattern, description: 'A regular expression' },
      },
      required: ['type', 'name'],
      additionalProperties: false,
    },
    action: { type: 'string', description: actions.join(' or ') },
  },
  required: ['resource', 'action'],
  additionalProperties: false,
})

/** The JSON schema of a permission as it is shown. */
export const shownPermissionSchema = (): JsonObject => ({
  title: 'ShownPermission',
  type: 'object',
  properties: {
    resourceAction: permissionSchema(),
    resourceNamePattern: { type: 'string' },
  },
  required: ['resourceAction'],
})

/** The JSON schema of a list of permissions: as they are posted, or as they are shown. */
export const permissionsSchema = (): JsonObject => ({
  type: 'array',
  items: { anyOf: [permissionSchema(), shownPermissionSchema()] },
  maxItems: mostPermissions,
})

/**
 * The permissions of a JSON list, as they are posted or as they are shown. `isPattern` tells whether a text is a
 * regular expression. The first thing that is wrong is an invalidInput failure that names it.
 */
export function parsePermissions(json: unknown, isPattern: (text: string) => boolean): Permission[] {
  if (!Array.isArray(json)) throw refuse('permissions', json, 'a list of permissions')
  if (json.length > mostPermissions)
    throw refuse('number of permissions', json.length, `at most ${mostPermissions}`)
  let expressionLength = 0
  return json.map((entry, index) => {
    const path = `permissions[${index}]`
    const permission = readPermission(entry, path, isPattern)
    const { name } = permission.resource
    if (!plainName.test(name)) expressionLength += name.length
    if (expressionLength > maxExpressionsLength) {
      throw refuse(
        `${path}.resource.name`,
        name,
        `regular expressions of at most ${maxExpressionsLength} characters in all permissions of a role`,
      )
    }
    return permission
  })
}

function readPermission(json: unknown, path: string, isPattern: (text: string) => boolean): Permission {
  if (!isJsonObject(json)) throw refuse(path, json, 'a permission: an object with resource and action')
  // What is shown wraps what is posted, with the pattern once more beside it.
  if (isJsonObject(json.resourceAction))
    return readPermission(json.resourceAction, `${path}.resourceAction`, isPattern)
  refuseOthers(json, path, ['resource', 'action'])
  const { resource } = json
  if (!isJsonObject(resource)) throw refuse(`${path}.resource`, resource, 'an object with type and name')
  refuseOthers(resource, `${path}.resource`, ['type', 'name'])
  const type = resourceTypes.find((known) => known === resource.type)
  if (!type) throw refuse(`${path}.resource.type`, resource.type, `one of ${resourceTypes.join(', ')}`)
  return {
    resource: { name: readName(resource.name, `${path}.resource.name`, isPattern), type },
    action: readAction(json.action, path),
  }
}

function readName(name: unknown, path: string, isPattern: (text: string) => boolean): string {
  if (
    typeof name !== 'string' ||
    name.length > longestNamePattern ||
    hasControlCharacter(name) ||
    !isPattern(name)
  ) {
    throw refuse(
      path,
      name,
      `a regular expression of at most ${longestNamePattern} characters, its repetitions written out, without control characters`,
    )
  }
  return name
}

/** The recorded system takes an action in any case. */
function readAction(action: unknown, path: string): Action {
  const known = actions.find((one) => typeof action === 'string' && one === action.toUpperCase())
  if (!known) throw refuse(`${path}.action`, action, `one of ${actions.join(', ')}`)
  return known
}

function refuseOthers(object: JsonObject, path: string, allowed: readonly string[]): void {
  for (const name of Object.keys(object)) {
    if (!allowed.includes(name)) throw refuse(`${path}.${name}`, object[name], `only ${allowed.join(', ')}`)
  }
}
