import { hasControlCharacter } from './control-characters.ts'
import { assertKnownFields, fieldOf, refuse } from './refuse.ts'

/** A JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>

/** Converts a JSON value into a typed value. Throws a failure that names the field if the value is invalid. */
export interface Reader<Value> {
  (json: unknown, field: string): Value
  /** JSON schema of the input. The reader may be stricter: a schema cannot express conditions between fields. */
  readonly schema?: () => JsonObject
}

/** Returns the JSON schema of a reader's input; a reader without a schema accepts anything. */
export const schemaOf = (read: Reader<unknown>): JsonObject => read.schema?.() ?? {}

/** Adds a JSON schema to a reader, either given or taken from another reader. */
export function described<Value>(
  schema: JsonObject | Reader<unknown>,
  read: (json: unknown, field: string) => Value,
): Reader<Value> {
  const schemaOfIt = () => (typeof schema === 'function' ? schemaOf(schema) : schema)
  return Object.assign((json: unknown, field: string) => read(json, field), { schema: schemaOfIt })
}

/** Adds a title to the schema of a reader. */
export const titled = <Value>(title: string, read: Reader<Value>): Reader<Value> =>
  Object.assign((json: unknown, field: string) => read(json, field), {
    schema: () => ({ title, ...schemaOf(read) }),
  })

/** Returns a schema that also accepts null. */
export function orNull(schema: JsonObject): JsonObject {
  const { type, title, enum: values, anyOf } = schema
  if (Object.keys(schema).length === 0) return schema
  if (Array.isArray(anyOf) && title === undefined) return { ...schema, anyOf: [...anyOf, { type: 'null' }] }
  return typeof type === 'string' && title === undefined && values === undefined
    ? { ...schema, type: [type, 'null'] }
    : { anyOf: [schema, { type: 'null' }] }
}

/** Whether the reader accepts a missing field. */
function mayBeLeftOut(read: Reader<unknown>): boolean {
  try {
    read(undefined, '')
    return true
  } catch {
    return false
  }
}

type Readers<Shape> = { readonly [Name in keyof Shape]: Reader<Shape[Name]> }

/** Whether a JSON value is an object, not a list or null. */
export const isJsonObject = (json: unknown): json is JsonObject =>
  typeof json === 'object' && json !== null && !Array.isArray(json)

/** Reads a string. */
export const readText: Reader<string> = described({ type: 'string' }, (json, field) => {
  if (typeof json !== 'string') throw refuse(field, json, 'a string')
  return json
})

/** Reads a name of 1 to `longest` characters, not blank, without control characters. */
export const readName = (maxLength = 255): Reader<string> =>
  described({ type: 'string', minLength: 1, maxLength: maxLength }, (json, field) => {
    if (
      typeof json !== 'string' ||
      json.trim() === '' ||
      json.length > maxLength ||
      hasControlCharacter(json)
    ) {
      throw refuse(
        field,
        json,
        `a name of 1 to ${maxLength} characters, not all blank, without control characters`,
      )
    }
    return json
  })

/** Reads a boolean. */
export const readFlag: Reader<boolean> = described({ type: 'boolean' }, (json, field) => {
  if (typeof json !== 'boolean') throw refuse(field, json, 'true or false')
  return json
})

/** Reads a number from `least` to `most`. */
export const readNumber = (min: number, max: number): Reader<number> =>
  described({ type: 'number', minimum: min, maximum: max }, (json, field) => {
    if (typeof json !== 'number' || !(json >= min && json <= max)) {
      throw refuse(field, json, `a number from ${min} to ${max}`)
    }
    return json
  })

/** Reads an integer from `least` to `most`. */
export const readInteger = (min: number, max: number): Reader<number> =>
  described({ type: 'integer', minimum: min, maximum: max }, (json, field) => {
    if (typeof json !== 'number' || !Number.isInteger(json) || json < min || json > max) {
      throw refuse(field, json, `an integer from ${min} to ${max}`)
    }
    return json
  })

/** Reads one of the given strings. */
export const readOneOf = <const Texts extends readonly string[]>(texts: Texts): Reader<Texts[number]> =>
  described({ type: 'string', enum: texts }, (json, field) => {
    const found = texts.find((text) => text === json)
    if (found === undefined) throw refuse(field, json, `one of [${texts.join(', ')}]`)
    return found
  })

/** Makes a field optional: a missing field and null both return `fallback`. */
export function optional<Value>(read: Reader<Value>): Reader<Value | null>
export function optional<Value, Fallback>(read: Reader<Value>, fallback: Fallback): Reader<Value | Fallback>
export function optional<Value>(read: Reader<Value>, fallback: unknown = null): Reader<unknown> {
  return Object.assign(
    (json: unknown, field: string) => (json === undefined || json === null ? fallback : read(json, field)),
    { schema: () => orNull(schemaOf(read)) },
  )
}

/** Reads a list of `least` to `most` items. */
export const readList = <Value>(
  read: Reader<Value>,
  { min = 0, max = 10_000 } = {},
): Reader<readonly Value[]> =>
  Object.assign(
    (json: unknown, field: string) => {
      if (!Array.isArray(json) || json.length < min || json.length > max) {
        throw refuse(field, json, min === 0 ? 'a list' : `a list with at least ${min} entry`)
      }
      return json.map((item, index) => read(item, `${field}[${index}]`))
    },
    { schema: () => ({ type: 'array', items: schemaOf(read), minItems: min, maxItems: max }) },
  )

/** Reads an object with any fields and keeps it unchanged. */
export const readAnyObject: Reader<JsonObject> = described(
  { type: 'object', additionalProperties: true },
  (json, field) => {
    if (!isJsonObject(json)) throw refuse(field, json, 'an object')
    return json
  },
)

/** Reads an object with exactly these fields. The result has its fields in the order of `readers`. */
export function readFields<Shape extends object>(
  readers: Readers<Shape>,
  expected = 'an object',
): Reader<Shape> {
  const entries = Object.entries(readers) as [string, Reader<unknown>][]
  const names = entries.map(([name]) => name)
  const read = (json: unknown, field: string): Shape => {
    if (!isJsonObject(json)) throw refuse(field === '' ? 'body' : field, json, expected)
    assertKnownFields(json, names, field)
    return Object.fromEntries(
      entries.map(([name, readField]) => [
        name,
        readField(Object.hasOwn(json, name) ? json[name] : undefined, fieldOf(field, name)),
      ]),
    ) as Shape
  }
  const schema = () => ({
    type: 'object',
    properties: Object.fromEntries(entries.map(([name, readField]) => [name, schemaOf(readField)])),
    required: entries.filter(([, readField]) => !mayBeLeftOut(readField)).map(([name]) => name),
    additionalProperties: false,
  })
  return Object.assign(read, { schema })
}

/** Reads an object with the reader that is registered for its `type`. */
export function readByType<Value>(readers: Readonly<Record<string, Reader<Value>>>): Reader<Value> {
  const read = (json: unknown, field: string): Value => {
    if (!isJsonObject(json)) throw refuse(field, json, 'an object with a type')
    const type = Object.hasOwn(json, 'type') ? json.type : undefined
    const readOfType = typeof type === 'string' && Object.hasOwn(readers, type) ? readers[type] : undefined
    if (readOfType === undefined) {
      throw refuse(fieldOf(field, 'type'), type, `one of [${Object.keys(readers).join(', ')}]`)
    }
    return readOfType(json, field)
  }
  const schemas = () => Object.values(readers).map(schemaOf)
  return Object.assign(read, { schema: () => ({ anyOf: schemas() }) })
}

/** Returns the object without its null fields, for formats in which null and absent mean the same. */
export const withoutNulls = <Shape extends object>(value: Shape): Partial<Shape> =>
  Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null)) as Partial<Shape>
