import { Failure } from '../failure/index.ts'
import { hasControlCharacter } from './control-characters.ts'
import { assertKnownFields, fieldOf, refuse, refuseSecret } from './refuse.ts'

/** A JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>

/**
 * Converts a JSON value into a typed value. Throws a failure that names the field if the value is invalid. With
 * `problems`, readers of objects and lists add the failure of each of their parts to it before they throw the first one.
 */
export interface Reader<Value> {
  (json: unknown, field: string, problems?: Failure[]): Value
  /** JSON schema of the input. The reader may be stricter: a schema cannot express conditions between fields. */
  readonly schema?: () => JsonObject
}

/** Returns the JSON schema of a reader's input; a reader without a schema accepts anything. */
export const schemaOf = (read: Reader<unknown>): JsonObject => read.schema?.() ?? {}

/** Adds a JSON schema to a reader, either given or taken from another reader. */
export function described<Value>(schema: JsonObject | Reader<unknown>, read: Read<Value>): Reader<Value> {
  const schemaOfIt = () => (typeof schema === 'function' ? schemaOf(schema) : schema)
  return Object.assign<Read<Value>, { schema: () => JsonObject }>(
    (json, field, problems) => read(json, field, problems),
    { schema: schemaOfIt },
  )
}

/** Returns a reader that accepts anything, for JSON that is read later. Its schema is created when it is needed. */
export const readLater = (schema: () => JsonObject): Reader<unknown> =>
  Object.assign((json: unknown) => json, { schema })

type Read<Value> = (json: unknown, field: string, problems?: Failure[]) => Value

/** Adds a condition to a reader. `expected` completes the sentence "expected …". */
export const checked = <Value>(
  read: Reader<Value>,
  isFit: (value: Value) => boolean,
  expected: string,
): Reader<Value> =>
  described(read, (json, field, problems) => {
    const value = read(json, field, problems)
    if (!isFit(value)) throw refuse(field, json, expected)
    return value
  })

/** Converts what a reader returns. `convert` may still refuse it. */
export const converted = <From, Value>(
  read: Reader<From>,
  convert: (value: From, field: string, json: unknown) => Value,
): Reader<Value> =>
  described(read, (json, field, problems) => convert(read(json, field, problems), field, json))

/** Adds a title to the schema of a reader. */
export const titled = <Value>(title: string, read: Reader<Value>): Reader<Value> =>
  Object.assign<Read<Value>, { schema: () => JsonObject }>(
    (json, field, problems) => read(json, field, problems),
    { schema: () => ({ title, ...schemaOf(read) }) },
  )

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

/** The values of an object whose fields are read by `Readers`. */
export type ValuesOf<Readers> = {
  readonly [Name in keyof Readers]: Readers[Name] extends Reader<infer Value> ? Value : never
}

/** The readers of the fields of an object. */
export type Readers<Shape> = { readonly [Name in keyof Shape]: Reader<Shape[Name]> }

/** Whether a JSON value is an object, not a list or null. */
export const isJsonObject = (json: unknown): json is JsonObject =>
  typeof json === 'object' && json !== null && !Array.isArray(json)

/** Reads a string. */
export const readText: Reader<string> = described({ type: 'string' }, (json, field) => {
  if (typeof json !== 'string') throw refuse(field, json, 'a string')
  return json
})

/** Max length of names (of datasources, columns, tiers, users, and so on) and of IDs, in characters. */
export const maxNameLength = 255

/** Reads a name of 1 to `maxLength` characters, not blank, without control characters. */
export const readName = (maxLength = maxNameLength): Reader<string> =>
  described({ type: 'string', minLength: 1, maxLength: maxLength }, (json, field) => {
    if (
      typeof json !== 'string' ||
      json.trim() === '' ||
      json.length > maxLength ||
      hasControlCharacter(json)
    ) {
      throw refuse(field, json, `a non-blank name of 1 to ${maxLength} characters without control characters`)
    }
    return json
  })

/** Reads a string that is not empty and has at most `maxLength` characters. `what` is the word for it. */
export const readShortText = (maxLength: number, what = 'a string'): Reader<string> =>
  described({ type: 'string', minLength: 1, maxLength }, (json, field) => {
    const text = readText(json, field)
    if (text === '') throw refuse(field, json, 'a non-empty string')
    if (text.length > maxLength) throw refuse(field, json, `${what} of at most ${maxLength} characters`)
    return text
  })

/** Reads a boolean. */
export const readFlag: Reader<boolean> = described({ type: 'boolean' }, (json, field) => {
  if (typeof json !== 'boolean') throw refuse(field, json, 'true or false')
  return json
})

/** Reads a number from `min` to `max`. */
export const readNumber = (min: number, max: number): Reader<number> =>
  described({ type: 'number', minimum: min, maximum: max }, (json, field) => {
    if (typeof json !== 'number' || !(json >= min && json <= max)) {
      throw refuse(field, json, `a number from ${min} to ${max}`)
    }
    return json
  })

/** Reads an integer from `min` to `max`. */
export const readInteger = (min: number, max: number): Reader<number> =>
  described({ type: 'integer', minimum: min, maximum: max }, (json, field) => {
    if (typeof json !== 'number' || !Number.isInteger(json) || json < min || json > max) {
      throw refuse(field, json, `an integer from ${min} to ${max}`)
    }
    return json
  })

/** Reads an integer of at least `min`. */
export const readCount = (min: number, max = Number.MAX_SAFE_INTEGER): Reader<number> => {
  const limits = { minimum: min, ...(max === Number.MAX_SAFE_INTEGER ? {} : { maximum: max }) }
  return described({ type: 'integer', ...limits }, (json, field) => {
    if (typeof json !== 'number' || !Number.isInteger(json)) throw refuse(field, json, 'an integer')
    if (json < min) throw refuse(field, json, `an integer of at least ${min}`)
    if (json > max) throw refuse(field, json, `an integer of at most ${max}`)
    return json
  })
}

/** Reads an integer. */
export const readWhole: Reader<number> = described({ type: 'integer' }, (json, field) => {
  if (!Number.isSafeInteger(json)) throw refuse(field, json, 'an integer')
  return json as number
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
    (json: unknown, field: string, problems?: Failure[]) =>
      json === undefined || json === null ? fallback : read(json, field, problems),
    { schema: () => orNull(schemaOf(read)) },
  )
}

/** Reads a value that may be null. */
export function nullable<Value>(read: Reader<Value>): Reader<Value | null> {
  return Object.assign(
    (json: unknown, field: string, problems?: Failure[]) =>
      json === null ? null : read(json, field, problems),
    { schema: () => orNull(schemaOf(read)) },
  )
}

/**
 * Makes a field omittable: a missing field returns `fallback`. In contrast to `optional`, null must be a value that
 * `read` accepts.
 */
export function omittable<Value>(read: Reader<Value>): Reader<Value | undefined>
export function omittable<Value>(read: Reader<Value>, fallback: Value): Reader<Value>
export function omittable<Value>(read: Reader<Value>, fallback?: Value): Reader<Value | undefined> {
  return Object.assign(
    (json: unknown, field: string, problems?: Failure[]) =>
      json === undefined ? fallback : read(json, field, problems),
    {
      schema: () => ({ ...(fallback === undefined ? {} : { default: fallback }), ...schemaOf(read) }),
    },
  )
}

interface ListOptions {
  readonly min?: 0 | 1
  readonly max?: number
  /** The word for an item. */
  readonly item?: string
  /** What the list is, for messages. */
  readonly expected?: string
}

/** Reads a list of at least `min` and at most `max` items. */
export const readList = <Value>(
  read: Reader<Value>,
  {
    min = 0,
    max = 10_000,
    item = 'entry',
    expected = min === 0 ? 'a list' : `a list with at least one ${item}`,
  }: ListOptions = {},
): Reader<readonly Value[]> =>
  Object.assign(
    (json: unknown, field: string, problems?: Failure[]) => {
      if (!Array.isArray(json) || json.length < min) throw refuse(field, json, expected)
      if (json.length > max) throw refuse(field, json, `at most ${max} entries`)
      const before = problems?.length
      const values = json.map((one, index) => readPart(read, one, `${field}[${index}]`, problems) as Value)
      throwFirst(problems, before)
      return values
    },
    { schema: () => ({ type: 'array', items: schemaOf(read), minItems: min, maxItems: max }) },
  )

// Enough to count the problems of usual input; more would take long to collect.
const maxProblems = 100

/** Reads a part of a value. With `problems`, an invalid part is added to them and returns undefined, so that reading continues. */
function readPart<Value>(
  read: Reader<Value>,
  json: unknown,
  field: string,
  problems: Failure[] | undefined,
): Value | undefined {
  if (problems === undefined) return read(json, field)
  try {
    return read(json, field, problems)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    if (!problems.includes(error)) problems.push(error)
    if (problems.length >= maxProblems) throw error
    return undefined
  }
}

/** Throws the first problem that was added after there were `before` of them. */
function throwFirst(problems: readonly Failure[] | undefined, before: number | undefined): void {
  const first = before === undefined ? undefined : problems?.[before]
  if (first !== undefined) throw first
}

/** Reads an object with any fields and keeps it unchanged. */
export const readAnyObject: Reader<JsonObject> = described(
  { type: 'object', additionalProperties: true },
  (json, field) => {
    if (!isJsonObject(json)) throw refuse(field, json, 'an object')
    return json
  },
)

/** How the fields of an object are read. */
interface FieldsOptions {
  /** What the object is, for messages. */
  readonly expected?: string
  /** Unknown fields are ignored instead of refused. */
  readonly ignoresOthers?: boolean
  /** Messages do not contain values. */
  readonly isSecret?: boolean
}

/** Reads an object with exactly these fields. The result has its fields in the order of `readers`. */
export function readFields<Shape extends object>(
  readers: Readers<Shape>,
  { expected = 'an object', ignoresOthers = false, isSecret = false }: FieldsOptions = {},
): Reader<Shape> {
  const entries = Object.entries(readers) as [string, Reader<unknown>][]
  const names = entries.map(([name]) => name)
  const read = (json: unknown, field: string, problems?: Failure[]): Shape => {
    if (!isJsonObject(json)) throw isSecret ? refuseSecret(field, expected) : refuse(field, json, expected)
    if (!ignoresOthers) assertKnownFields(json, names, field, isSecret)
    const before = problems?.length
    const values: Record<string, unknown> = {}
    // Reports of servers contain many small objects, for which entries of a list would double the garbage.
    for (const [name, readField] of entries) {
      const given = Object.hasOwn(json, name) ? json[name] : undefined
      values[name] = readPart(readField, given, fieldOf(field, name), problems)
    }
    throwFirst(problems, before)
    return values as Shape
  }
  const schema = () => ({
    type: 'object',
    properties: Object.fromEntries(entries.map(([name, readField]) => [name, schemaOf(readField)])),
    required: entries.filter(([, readField]) => !mayBeLeftOut(readField)).map(([name]) => name),
    ...(ignoresOthers ? {} : { additionalProperties: false }),
  })
  return Object.assign(read, { schema })
}

/** Reads an object with the reader that is registered for its type, which is in the field `typeField`. */
export function readByType<Value>(
  readers: Readonly<Record<string, Reader<Value>>>,
  {
    typeField = 'type',
    expected = `an object with the field [${typeField}]`,
    expectedType = `one of [${Object.keys(readers).join(', ')}]`,
  }: { readonly typeField?: string; readonly expected?: string; readonly expectedType?: string } = {},
): Reader<Value> {
  const read = (json: unknown, field: string, problems?: Failure[]): Value => {
    if (!isJsonObject(json)) throw refuse(field, json, expected)
    const type = Object.hasOwn(json, typeField) ? json[typeField] : undefined
    const readOfType = typeof type === 'string' && Object.hasOwn(readers, type) ? readers[type] : undefined
    if (readOfType === undefined) throw refuse(fieldOf(field, typeField), type, expectedType)
    return readOfType(json, field, problems)
  }
  const schemas = () => Object.values(readers).map(schemaOf)
  return Object.assign(read, { schema: () => ({ anyOf: schemas() }) })
}

/** Returns the object without its null fields, for formats in which null and absent mean the same. */
export const withoutNulls = <Shape extends object>(value: Shape): Partial<Shape> =>
  Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null)) as Partial<Shape>

/** Reads an object without its absent fields, so that the output is the same as the input. */
export const kept = (read: Reader<object>): Reader<JsonObject> =>
  converted(read, (value) => withoutNulls(value) as JsonObject)
