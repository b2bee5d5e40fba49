import { readPrices } from '@svc/domain/costs'
import { ruleSchema } from '@svc/domain/rules'
import { type JsonObject, schemaOf } from '@svc/domain/validation'
import { ruleSetField } from './rule-sets.ts'
import { ruleListSchema, sectionDefinitions } from './sections.ts'

const ruleSetReferenceSchema: JsonObject = {
  type: 'object',
  description: 'Includes all rules of a rule set at this position',
  properties: { [ruleSetField]: { type: 'string' } },
  required: [ruleSetField],
  additionalProperties: false,
}

const descriptions: Readonly<Record<string, string>> = {
  ruleSets: 'Rule lists that other rule lists can include by name',
  rules: 'Retention rules by datasource; _default contains the cluster default rules',
  compaction: 'Automatic compaction',
  'compaction.cluster': 'Settings for all datasources; omitted fields keep their values',
  'compaction.datasources': 'Compaction by datasource',
  coordinator: 'Dynamic configuration of the coordinator; omitted fields keep their values',
  authorizers: 'Roles, users, and group mappings by authorizer',
  'authorizers.*.roles': 'Permissions by role',
  'authorizers.*.users': 'Roles by user',
  'authorizers.*.groupMappings': 'Group pattern and roles of each group mapping',
  authenticators: 'Users who can log in, by authenticator',
  'authenticators.*.users':
    'File or environment variable with the password of a user; used only to create the user',
  prices: 'Price of one GiB of replicas per month, by tier; if set, plans show costs',
}

/** Returns the JSON schema of the files of a declared state. */
function stateSchema(): JsonObject {
  const root = objectOf([])
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Declared state of a cluster',
    ...root,
    properties: {
      ruleSets: {
        description: descriptions.ruleSets,
        type: 'object',
        additionalProperties: ruleListSchema,
      },
      ...(root.properties as JsonObject),
      prices: { description: descriptions.prices, ...schemaOf(readPrices) },
    },
    $defs: { rule: ruleSchema(), ruleSetReference: ruleSetReferenceSchema },
  }
}

/** Returns the JSON text of `stateSchema`, as a file. */
export const stateSchemaText = (): string => `${JSON.stringify(stateSchema(), null, 1)}\n`

/** The schema of the object at a path: of a section, or of an object with sections. */
function objectOf(path: readonly string[]): JsonObject {
  const description = descriptions[path.join('.')]
  const described = description === undefined ? {} : { description }
  const below = sectionDefinitions.filter((one) => path.every((key, index) => one.path[index] === key))
  const section = below.find((one) => one.path.length === path.length)
  if (section !== undefined) return { ...described, ...withoutTitles(section.schema()) }
  const names = [...new Set(below.map((one) => one.path[path.length]!))]
  if (names[0] === '*')
    return { ...described, type: 'object', additionalProperties: objectOf([...path, '*']) }
  const properties = Object.fromEntries(names.map((name) => [name, objectOf([...path, name])]))
  return { ...described, type: 'object', properties, additionalProperties: false }
}

/** Titles name types of the interface, which an editor would show instead of the description. */
function withoutTitles({ title: _, ...schema }: JsonObject): JsonObject {
  return schema
}
