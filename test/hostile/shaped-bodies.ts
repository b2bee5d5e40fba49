import type { JsonSchema } from '@svc/shared/http'
import {
  deepObjects,
  type Filler,
  hostileString,
  listOfDistinct,
  listOfIdentical,
  longNumber,
  longString,
  manyKeys,
} from './fillers.ts'

/** A valid document in which one value is inflated. */
export interface ShapedBody {
  /** The position of the value and its filler, such as `[].interval: long string`. */
  readonly name: string
  /** The text of the document with a value of about `sizeBytes` bytes. */
  text(sizeBytes: number): string
}

/** The datasource in the requests, which the caller with one datasource can read and write. */
export const attackedDataSource = 'hostile_one'

const day = (index: number): string =>
  new Date(Date.UTC(2026, 0, 1) + (index % 30_000) * 86_400_000).toISOString().slice(0, 10)
const interval = (index: number): string => `${day(index)}/${day(index + 1)}`
const segmentId = (index: number): string =>
  `${attackedDataSource}_${day(index)}T00:00:00.000Z_${day(index + 1)}T00:00:00.000Z_2026-01-01T00:00:00.000Z`

/** Values of fields whose schema only says that they are strings, numbered where they must differ. */
const sampleTexts: Readonly<Record<string, (index: number) => string>> = {
  interval,
  intervals: interval,
  segments: segmentId,
  segmentIds: segmentId,
  period: () => 'P1M',
  skipOffsetFromLatest: () => 'P1D',
  horizon: () => 'P1Y',
  now: () => '2026-01-01T00:00:00.000Z',
  query: () => 'SELECT 1',
  dataSource: () => attackedDataSource,
  datasource: () => attackedDataSource,
  segmentGranularity: () => 'DAY',
  queryGranularity: () => 'NONE',
  column: () => 't',
  format: () => 'iso',
  data: () => '{"t":"2026-01-01T00:00:00Z","d":"x"}',
  uris: (index) => `http://127.0.0.1:9/${index}`,
  password: () => 'a-password-of-tests',
  timeout: () => '1000',
}

/** Strings that are valid for their field and expensive to parse. */
const costlyTexts: Readonly<Record<string, Readonly<Record<string, (sizeBytes: number) => string>>>> = {
  query: {
    'long sum': (sizeBytes) => `SELECT 1${'+1'.repeat(Math.floor(sizeBytes / 2))}`,
    'deep parentheses': (sizeBytes) => {
      const depth = Math.floor(sizeBytes / 2)
      return `SELECT ${'('.repeat(depth)}1${')'.repeat(depth)}`
    },
    'long union': (sizeBytes) => `SELECT 1${' UNION ALL SELECT 1'.repeat(Math.floor(sizeBytes / 19))}`,
    'long list': (sizeBytes) => `SELECT 1 IN (1${',1'.repeat(Math.floor(sizeBytes / 2))})`,
    'nested calls': (sizeBytes) => {
      const depth = Math.floor(sizeBytes / 7)
      return `SELECT ${'LOWER('.repeat(depth)}'a'${')'.repeat(depth)}`
    },
    'many subqueries': (sizeBytes) => {
      const depth = Math.floor(sizeBytes / 16)
      return `${'SELECT * FROM ('.repeat(depth)}SELECT 1${')'.repeat(depth)}`
    },
    'many placeholders': (sizeBytes) => `SELECT ?${',?'.repeat(Math.floor(sizeBytes / 2))}`,
    comment: (sizeBytes) => `SELECT 1 ${'/*'.repeat(Math.floor(sizeBytes / 2))}`,
    'open quotes': (sizeBytes) => `SELECT ${"''".repeat(Math.floor(sizeBytes / 2))}'`,
  },
  period: { 'many digits': (sizeBytes) => `P${'9'.repeat(sizeBytes)}D` },
  interval: {
    'many digits': (sizeBytes) => `${'9'.repeat(sizeBytes)}-01-01/P1D`,
    'many slashes': (sizeBytes) => '/'.repeat(sizeBytes),
  },
}

const textOf = (field: string, index: number): string => sampleTexts[field]?.(index) ?? `x${index}`

const listOf = (value: unknown): readonly JsonSchema[] => (value ?? []) as readonly JsonSchema[]
const typesOf = ({ type }: JsonSchema): readonly string[] =>
  typeof type === 'string' ? [type] : ((type ?? []) as readonly string[])
const propertiesOf = (schema: JsonSchema) =>
  Object.entries((schema.properties ?? {}) as Readonly<Record<string, JsonSchema>>)
const isNull = (schema: JsonSchema): boolean => schema.type === 'null'

/** The schemas of which a value must match one. */
function alternativesOf(schema: JsonSchema): readonly JsonSchema[] {
  const alternatives = [...listOf(schema.anyOf), ...listOf(schema.oneOf)].filter((one) => !isNull(one))
  return alternatives.length > 0 ? alternatives.flatMap(alternativesOf) : [schema]
}

/** The text of a small valid value of a schema; `index` makes the values of a list different. */
export function sampleText(schema: JsonSchema, field = '', index = 0): string {
  const [first = schema] = alternativesOf(schema)
  if (first.const !== undefined) return JSON.stringify(first.const)
  if (Array.isArray(first.enum)) return JSON.stringify(first.enum[0])
  const types = typesOf(first)
  if (types.includes('string')) return JSON.stringify(textOf(field, index))
  if (types.includes('integer') || types.includes('number'))
    return String(Math.max(1, Number(first.minimum ?? 1)))
  if (types.includes('boolean')) return 'true'
  if (types.includes('array')) {
    return `[${Number(first.minItems ?? 0) > 0 ? sampleText(first.items as JsonSchema, field, index) : ''}]`
  }
  if (types.includes('object')) {
    const required = new Set((first.required ?? []) as readonly string[])
    const members = propertiesOf(first)
      .filter(([name]) => required.has(name))
      .map(([name, property]) => `${JSON.stringify(name)}:${sampleText(property, name, index)}`)
    return `{${members.join(',')}}`
  }
  return '1'
}

/** The text around a value. */
type Frame = (value: string) => string

interface Place {
  readonly schema: JsonSchema
  readonly field: string
  readonly path: string
  readonly frame: Frame
}

/** All bodies of a schema with one value inflated; values of the same name and schema only once. */
export function shapedBodies(schema: JsonSchema): ShapedBody[] {
  const seen = new Set<string>()
  const bodies = new Map<string, ShapedBody>()
  const visit = (place: Place): void => {
    for (const alternative of alternativesOf(place.schema)) {
      const key = `${place.field} ${JSON.stringify(alternative)}`
      if (seen.has(key)) continue
      seen.add(key)
      const branch = { ...place, schema: alternative }
      for (const [kind, filler] of fillersOf(branch)) {
        // A number distinguishes alternatives with the same path to a value.
        let name = `${place.path || 'body'}: ${kind}`
        for (let number = 2; bodies.has(name); number++) name = `${place.path || 'body'} (${number}): ${kind}`
        bodies.set(name, { name, text: (sizeBytes) => place.frame(filler(sizeBytes)) })
      }
      for (const inner of placesIn(branch)) visit(inner)
    }
  }
  visit({ schema, field: '', path: '', frame: (value) => value })
  return [...bodies.values()]
}

function placesIn({ schema, field, path, frame }: Place): Place[] {
  const types = typesOf(schema)
  const places: Place[] = []
  if (types.includes('array') && schema.items !== undefined) {
    const items = schema.items as JsonSchema
    places.push({ schema: items, field, path: `${path}[]`, frame: (value) => frame(`[${value}]`) })
  }
  if (!types.includes('object')) return places
  const required = (schema.required ?? []) as readonly string[]
  const properties = propertiesOf(schema)
  for (const [name, property] of properties) {
    const others = properties
      .filter(([other]) => other !== name && required.includes(other))
      .map(([other, otherSchema]) => `${JSON.stringify(other)}:${sampleText(otherSchema, other)},`)
      .join('')
    places.push({
      schema: property,
      field: name,
      path: path === '' ? name : `${path}.${name}`,
      frame: (value) => frame(`{${others}${JSON.stringify(name)}:${value}}`),
    })
  }
  const inner = schema.additionalProperties as JsonSchema | boolean | undefined
  if (typeof inner === 'object' && Object.keys(inner).length > 0) {
    places.push({ schema: inner, field: 'x', path: `${path}.*`, frame: (value) => frame(`{"x":${value}}`) })
  }
  return places
}

/** The fillers for a value of a schema. */
function* fillersOf({ schema, field }: Place): Generator<readonly [string, Filler]> {
  const types = typesOf(schema)
  if (schema.const !== undefined || schema.enum !== undefined) return
  if (types.length === 0) {
    yield ['many keys', manyKeys()]
    yield ['deep objects', deepObjects]
  }
  if (types.includes('array')) yield* listFillers(schema, field)
  if (types.includes('object')) {
    const inner = schema.additionalProperties as JsonSchema | boolean | undefined
    yield ['many keys', manyKeys(typeof inner === 'object' ? sampleText(inner) : '1')]
  }
  if (types.includes('string')) {
    yield ['long string', longString]
    yield ['hostile string', hostileString]
    for (const [kind, text] of Object.entries(costlyTexts[field] ?? {}))
      yield [kind, (sizeBytes) => JSON.stringify(text(sizeBytes))]
  }
  if (types.includes('integer') || types.includes('number')) yield ['long number', longNumber]
}

function* listFillers(schema: JsonSchema, field: string): Generator<readonly [string, Filler]> {
  const maxItems = schema.maxItems as number | undefined
  const alternatives = alternativesOf((schema.items ?? {}) as JsonSchema)
  for (const [number, items] of alternatives.entries()) {
    const suffix = alternatives.length > 1 ? ` (${number + 1})` : ''
    yield [`identical members${suffix}`, listOfIdentical(sampleText(items, field), maxItems)]
    yield [`distinct members${suffix}`, listOfDistinct((index) => sampleText(items, field, index), maxItems)]
  }
  yield ['empty objects', listOfIdentical('{}')]
}
