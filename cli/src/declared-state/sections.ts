import { isGroupPattern, parsePermissions, permissionsSchema } from '@svc/domain/access'
import {
  formatClusterConfig,
  formatCompactionConfig,
  parseClusterConfig,
  parseCompactionConfig,
  readClusterConfig,
  readCompactionConfig,
} from '@svc/domain/compaction'
import { Failure } from '@svc/domain/failure'
import { canonicalJson } from '@svc/domain/json'
import { ascending } from '@svc/domain/order'
import { formatRule, readRule } from '@svc/domain/rules'
import {
  checked,
  isJsonObject,
  type JsonObject,
  omittable,
  type Reader,
  readDatasourceName,
  readFields,
  readList,
  readName,
  readRulesName,
  readShortText,
  readText,
  refuse,
  schemaOf,
  withoutNulls,
} from '@svc/domain/validation'
import { readConfigChange } from '@svc/shared/coordinator-dynamic-config'
import { countNamePatternSteps } from '@svc/shared/security'
import { checkLiteralRules } from './rule-sets.ts'

/** The kinds of sections of a declared state. */
export type SectionKind =
  | 'rules'
  | 'compactionCluster'
  | 'compactionDatasources'
  | 'coordinator'
  | 'logins'
  | 'roles'
  | 'users'
  | 'groupMappings'

/** What a kind of section contains. */
export interface SectionDefinition {
  readonly kind: SectionKind
  /** The keys that lead to it in a file; `*` is the name of an authenticator or authorizer. */
  readonly path: readonly string[]
  /** Entries that a file leaves out stay as they are, instead of being removed. */
  readonly isPartial: boolean
  /** The JSON schema of an entry; undefined if the schema of each entry is in `schema`. */
  readonly schema: () => JsonObject
  /** Reads the name of an entry. */
  readonly readName: Reader<string>
  /** Throws invalidInput if an entry is invalid. `field` is its path in messages. */
  readonly check: (value: unknown, name: string, field: string) => void
  /** Returns what an entry means: defaults are filled in, and the order does not matter where it has no meaning. */
  readonly meaning: (value: unknown, name: string) => unknown
}

const readRoleNames = readList(readName(), { max: 10_000, item: 'role' })

const readGroupMapping = readFields(
  {
    groupPattern: checked(
      readName(1024),
      isGroupPattern,
      '[*], a distinguished name, [*,suffix], or [prefix,*]',
    ),
    roles: omittable(readRoleNames, []),
  },
  { expected: 'an object with [groupPattern] and [roles]' },
)

/** Where the password of a new user is. It is never in a file of the declared state. */
export interface PasswordReference {
  readonly file?: string | undefined
  readonly environment?: string | undefined
}

const readPasswordReference = checked(
  readFields(
    { file: omittable(readShortText(4096)), environment: omittable(readShortText(255)) },
    {
      expected: 'an object with [file] or [environment]; YAML files never contain passwords',
      isSecret: true,
    },
  ),
  ({ file, environment }) => (file === undefined) !== (environment === undefined),
  'either [file] or [environment]',
)

/** Reads a user of an authenticator. */
export const readLogin = readFields(
  { password: omittable<PasswordReference>(readPasswordReference) },
  { expected: 'an object with an optional [password]', isSecret: true },
)

const entriesSchema = (schema: JsonObject): JsonObject => ({ type: 'object', additionalProperties: schema })

// The engine of a cluster depends on another field.
const withSupervisors = (name: string): JsonObject => (name === 'engine' ? { useSupervisors: true } : {})

/** The kinds of sections, in the order in which changes are shown. */
export const sectionDefinitions: readonly SectionDefinition[] = [
  {
    kind: 'rules',
    path: ['rules'],
    isPartial: false,
    readName: readRulesName,
    schema: () => entriesSchema(ruleListSchema),
    check: (value, _, field) => checkLiteralRules(value, field),
    meaning: (value) => (Array.isArray(value) ? value.map(meaningOfRule) : value),
  },
  {
    kind: 'compactionCluster',
    path: ['compaction', 'cluster'],
    isPartial: true,
    readName: readText,
    schema: () => optionalFields(schemaOf(readClusterConfig)),
    check: (value, name, field) =>
      void parseClusterConfig({ ...withSupervisors(name), [name]: value }, parentOf(field, name)),
    meaning: (value, name) =>
      formatClusterConfig(parseClusterConfig({ ...withSupervisors(name), [name]: value }))[name],
  },
  {
    kind: 'compactionDatasources',
    path: ['compaction', 'datasources'],
    isPartial: false,
    readName: readDatasourceName,
    schema: () => entriesSchema(withoutDatasource(schemaOf(readCompactionConfig))),
    check: (value, name, field) => void parseCompactionConfig(withDatasource(value, name, field), field),
    meaning: (value, name) => {
      const { dataSource: _, ...config } = formatCompactionConfig(
        parseCompactionConfig(withDatasource(value, name, '')),
      )
      return withoutNulls(config)
    },
  },
  {
    kind: 'coordinator',
    path: ['coordinator'],
    isPartial: true,
    readName: readText,
    schema: () => schemaOf(readConfigChange),
    check: (value, name, field) => void readConfigChange({ [name]: value }, parentOf(field, name)),
    meaning: (value, name) => {
      const read = (readConfigChange({ [name]: value }, '') as JsonObject)[name]
      // Lists of servers and datasources are sets.
      return Array.isArray(read) ? sortedByText(read) : read
    },
  },
  {
    kind: 'roles',
    path: ['authorizers', '*', 'roles'],
    isPartial: false,
    readName: readName(),
    schema: () => entriesSchema(permissionsSchema()),
    check: (value, _, field) => void permissionsOf(value, field),
    meaning: (value) => sortedByText(parsePermissions(value, countNamePatternSteps)),
  },
  {
    kind: 'users',
    path: ['authorizers', '*', 'users'],
    isPartial: false,
    readName: readName(),
    schema: () => entriesSchema(schemaOf(readRoleNames)),
    check: (value, _, field) => void readRoleNames(value, field),
    meaning: (value) => sortedByText([...new Set(readRoleNames(value, ''))]),
  },
  {
    kind: 'groupMappings',
    path: ['authorizers', '*', 'groupMappings'],
    isPartial: false,
    readName: readName(),
    schema: () => entriesSchema(schemaOf(readGroupMapping)),
    check: (value, _, field) => void readGroupMapping(value, field),
    meaning: (value) => {
      const { groupPattern, roles } = readGroupMapping(value, '')
      return { groupPattern, roles: sortedByText([...new Set(roles)]) }
    },
  },
  {
    kind: 'logins',
    path: ['authenticators', '*', 'users'],
    isPartial: false,
    readName: readName(),
    schema: () => entriesSchema(schemaOf(readLogin)),
    check: (value, _, field) => void readLogin(value, field),
    // A password cannot be read from a cluster, so it is never a difference.
    meaning: () => ({}),
  },
]

const byKind = new Map(sectionDefinitions.map((definition) => [definition.kind, definition]))

/** Returns what defines a kind of section. */
export const definitionOf = (kind: SectionKind): SectionDefinition => byKind.get(kind)!

/**
 * Returns what an entry means, for comparisons. A value that svc cannot read, such as one with fields of another version of
 * Druid, means itself.
 */
export function meaningOf(kind: SectionKind, value: unknown, name: string): unknown {
  return orItself(value, () => definitionOf(kind).meaning(value, name))
}

const meaningOfRule = (rule: unknown): unknown => orItself(rule, () => formatRule(readRule(rule, '')))

function orItself(value: unknown, read: () => unknown): unknown {
  try {
    return read()
  } catch (error) {
    if (error instanceof Failure) return value
    throw error
  }
}

/** JSON schema of a list of rules and references to rule sets. */
export const ruleListSchema: JsonObject = {
  type: 'array',
  items: { anyOf: [{ $ref: '#/$defs/rule' }, { $ref: '#/$defs/ruleSetReference' }] },
}

const sortedByText = <Value>(list: readonly Value[]): Value[] =>
  list
    .map((value) => ({ value, text: canonicalJson(value) }))
    .sort((a, b) => ascending(a.text, b.text))
    .map(({ value }) => value)

const parentOf = (field: string, name: string): string => field.slice(0, -name.length - 1)

function withDatasource(value: unknown, dataSource: string, field: string): unknown {
  if (!isJsonObject(value)) throw refuse(field, value, 'a compaction configuration')
  if (Object.hasOwn(value, 'dataSource') && value.dataSource !== dataSource)
    throw refuse(`${field}.dataSource`, value.dataSource, `[${dataSource}], or no value`)
  return { ...value, dataSource }
}

function withoutDatasource(schema: JsonObject): JsonObject {
  const required = (schema.required as readonly string[]).filter((name) => name !== 'dataSource')
  return { ...schema, required }
}

function optionalFields({ required: _, ...schema }: JsonObject): JsonObject {
  return schema
}

/** Reads permissions. They have their own names in messages, so their field is changed to the one in the file. */
function permissionsOf(value: unknown, field: string): void {
  try {
    parsePermissions(value, countNamePatternSteps)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const { field: inList = '' } = error.context
    const inFile = inList.replace(/^permissions/, () => field)
    const message = error.message.replace(`[${inList}]`, () => `[${inFile}]`)
    throw new Failure(error.code, message, { field: inFile })
  }
}
