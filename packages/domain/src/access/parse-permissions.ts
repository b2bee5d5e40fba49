import {
  checked,
  described,
  hasControlCharacter,
  isJsonObject,
  type JsonObject,
  type Reader,
  readFields,
  readOneOf,
  readText,
  refuse,
  schemaOf,
  titled,
} from '../validation/index.ts'
import { type Action, actions, type Permission, resourceTypes } from './permission.ts'

/** Number of steps of a compiled pattern; undefined if the text is not a valid pattern. */
type CountSteps = (text: string) => number | undefined

/** Maximum number of permissions of a role. */
const maxPermissions = 10_000
/**
 * Max total number of steps of the regular expressions of a role: one per character, with repetitions expanded. Every
 * server compiles them for each caller with the role, which takes about 2 microseconds per step, plus as much as 10
 * steps for each expression. To match a name, a server may take every step for every character of the name. Names
 * without special characters do not count.
 */
const maxExpressionSteps = 20_000
const stepsPerExpression = 10
/** Max length of a resource name pattern, in characters. */
export const maxNamePatternLength = 1024

/** Returns whether a pattern is a plain name, which matches only itself and need not be compiled. */
export const isPlainName = (pattern: string): boolean => /^[\w-]*$/.test(pattern)

/** Reads an action. Like Druid 37, ignores its case. */
const readAction: Reader<Action> = described(
  { type: 'string', description: actions.join(' or ') },
  (json, field) => readOneOf(actions)(typeof json === 'string' ? json.toUpperCase() : json, field),
)

/** Returns a reader of permissions as clients post them. */
const permissionReader = (countSteps: CountSteps): Reader<Permission> =>
  titled(
    'Permission',
    readFields(
      {
        resource: readFields(
          { name: namePatternReader(countSteps), type: readOneOf(resourceTypes) },
          { expected: 'an object with [type] and [name]' },
        ),
        action: readAction,
      },
      { expected: 'an object with [resource] and [action]' },
    ),
  )

const namePatternReader = (countSteps: CountSteps): Reader<string> =>
  described(
    { type: 'string', maxLength: maxNamePatternLength, description: 'A regular expression' },
    checked(
      readText,
      (name) =>
        name.length <= maxNamePatternLength && !hasControlCharacter(name) && countSteps(name) !== undefined,
      `a regular expression of at most ${maxNamePatternLength} characters (counted after expanding repetitions), without control characters`,
    ),
  )

/** JSON schema of a permission as clients post it. */
export const permissionSchema = (): JsonObject => schemaOf(permissionReader(() => 0))

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
 * Parses a JSON list of permissions, as clients post them or as the API returns them. `countSteps` returns the size
 * of a regular expression. Throws invalidInput for the first error.
 */
export function parsePermissions(json: unknown, countSteps: CountSteps): Permission[] {
  if (!Array.isArray(json)) throw refuse('permissions', json, 'a list of permissions')
  if (json.length > maxPermissions)
    throw refuse('permissions', `${json.length} entries`, `a list of at most ${maxPermissions} permissions`)
  const read = permissionReader(countSteps)
  let steps = 0
  return json.map((entry, index) => {
    const path = `permissions[${index}]`
    // The API returns the posted permission as [resourceAction], next to its pattern.
    const isShown = isJsonObject(entry) && isJsonObject(entry.resourceAction)
    const permission = isShown ? read(entry.resourceAction, `${path}.resourceAction`) : read(entry, path)
    const { name } = permission.resource
    if (!isPlainName(name)) steps += (countSteps(name) ?? 0) + stepsPerExpression
    if (steps > maxExpressionSteps) {
      throw refuse(
        `${path}.resource.name`,
        name,
        `regular expressions of at most ${maxExpressionSteps} characters per role in total, counted after repetitions are expanded, plus ${stepsPerExpression} characters for each expression`,
      )
    }
    return permission
  })
}
