import { type Failure, invalidInput } from '../failure/index.ts'
import { refuse, showValue } from './refuse.ts'

/** Makes a value of JSON into what it means, or refuses it by the name of its field. */
export type Reader<Value> = (json: unknown, field: string) => Value

/** An object of JSON. */
export type JsonObject = Readonly<Record<string, unknown>>

type Readers<Shape> = { readonly [Name in keyof Shape]: Reader<Shape[Name]> }

/** Whether a value of JSON is an object: neither a list nor null. */
export const isJsonObject = (json: unknown): json is JsonObject =>
  typeof json === 'object' && json !== null && !Array.isArray(json)

const fieldOf = (owner: string, name: string): string => (owner === '' ? name : `${owner}.${name}`)

function unknownField(owner: string, name: string, value: unknown, known: readonly string[]): Failure {
  const field = fieldOf(owner, name)
  return invalidInput(
    `${field} with the value [${showValue(value)}] is not a known field; allowed are ${known.join(', ')}`,
    { field },
  )
}

/** A text. */
export const readText: Reader<string> = (json, field) => {
  if (typeof json !== 'string') throw refuse(field, json, 'a text')
  return json
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is refused
const controlCharacter = /[\u0000-\u001f\u007f]/

/** A name of 1 to `longest` characters: not blank, without control characters. */
export const readName =
  (longest = 255): Reader<string> =>
  (json, field) => {
    if (
      typeof json !== 'string' ||
      json.trim() === '' ||
      json.length > longest ||
      controlCharacter.test(json) ||
      !json.isWellFormed()
    ) {
      throw refuse(
        field,
        json,
        `a name of 1 to ${longest} characters, not all blank, without control characters`,
      )
    }
    return json
  }

/** True or false. */
export const readFlag: Reader<boolean> = (json, field) => {
  if (typeof json !== 'boolean') throw refuse(field, json, 'true or false')
  return json
}

/** A number from `least` to `most`. */
export const readNumber =
  (least: number, most: number): Reader<number> =>
  (json, field) => {
    if (typeof json !== 'number' || !(json >= least && json <= most)) {
      throw refuse(field, json, `a number from ${least} to ${most}`)
    }
    return json
  }

/** A whole number from `least` to `most`. */
export const readWhole =
  (least: number, most: number): Reader<number> =>
  (json, field) => {
    if (typeof json !== 'number' || !Number.isInteger(json) || json < least || json > most) {
      throw refuse(field, json, `a whole number from ${least} to ${most}`)
    }
    return json
  }

/** One of a few texts. */
export const readOneOf =
  <const Texts extends readonly string[]>(texts: Texts): Reader<Texts[number]> =>
  (json, field) => {
    const found = texts.find((text) => text === json)
    if (found === undefined) throw refuse(field, json, `one of ${texts.join(', ')}`)
    return found
  }

/** What may be left out, or be null, which means the same; `fallback` then stands for it. */
export function optional<Value>(read: Reader<Value>): Reader<Value | null>
export function optional<Value, Fallback>(read: Reader<Value>, fallback: Fallback): Reader<Value | Fallback>
export function optional<Value>(read: Reader<Value>, fallback: unknown = null): Reader<unknown> {
  return (json, field) => (json === undefined || json === null ? fallback : read(json, field))
}

/** A list of `least` to `most` things. */
export const readList =
  <Value>(read: Reader<Value>, { least = 0, most = 10_000 } = {}): Reader<readonly Value[]> =>
  (json, field) => {
    if (!Array.isArray(json) || json.length < least || json.length > most) {
      throw refuse(field, json, least === 0 ? 'a list' : `a list with at least ${least} entry`)
    }
    return json.map((item, index) => read(item, `${field}[${index}]`))
  }

/** An object of any fields, kept as it is. */
export const readAnyObject: Reader<JsonObject> = (json, field) => {
  if (!isJsonObject(json)) throw refuse(field, json, 'an object')
  return json
}

/** An object of these fields and no others; the fields of what is read are in the order of `readers`. */
export const readFields =
  <Shape extends object>(readers: Readers<Shape>, whole = 'an object'): Reader<Shape> =>
  (json, field) => {
    if (!isJsonObject(json)) throw refuse(field === '' ? 'The body' : field, json, whole)
    const names = Object.keys(readers)
    for (const name of Object.keys(json)) {
      if (!Object.hasOwn(readers, name)) throw unknownField(field, name, json[name], names)
    }
    return Object.fromEntries(
      names.map((name) => [
        name,
        readers[name as keyof Shape](
          Object.hasOwn(json, name) ? json[name] : undefined,
          fieldOf(field, name),
        ),
      ]),
    ) as Shape
  }

/** An object whose `type` tells which reader reads it. */
export const readByType =
  <Value>(readers: Readonly<Record<string, Reader<Value>>>): Reader<Value> =>
  (json, field) => {
    if (!isJsonObject(json)) throw refuse(field, json, 'an object with a type')
    const type = Object.hasOwn(json, 'type') ? json.type : undefined
    const read = typeof type === 'string' && Object.hasOwn(readers, type) ? readers[type] : undefined
    if (read === undefined) {
      throw refuse(fieldOf(field, 'type'), type, `one of ${Object.keys(readers).join(', ')}`)
    }
    return read(json, field)
  }

/** The object without its fields that are null: as it is written where null and absent mean the same. */
export const withoutNulls = <Shape extends object>(value: Shape): Partial<Shape> =>
  Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null)) as Partial<Shape>
