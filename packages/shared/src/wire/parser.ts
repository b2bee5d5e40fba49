import type { JsonObject } from '@svc/domain/validation'
import { z } from 'zod'
import { parseJson, type RefusalOptions } from './parse-json.ts'

/** Makes JSON into what it means, or refuses it, and tells the shape of what it takes. */
export interface Parser<Value> {
  (json: unknown): Value
  /** What it refuses beyond this, such as conditions between fields, the shape does not tell. */
  readonly shape: z.ZodType
}

/** A parser by a schema. */
export function parserOf<Schema extends z.ZodType>(
  schema: Schema,
  options: RefusalOptions,
): Parser<z.output<Schema>>
/** A parser by a schema; `make` then makes the value out of what the schema lets through, or refuses it still. */
export function parserOf<Schema extends z.ZodType, Value>(
  schema: Schema,
  options: RefusalOptions,
  make: (read: z.output<Schema>) => Value,
): Parser<Value>
export function parserOf<Schema extends z.ZodType>(
  schema: Schema,
  options: RefusalOptions,
  make: (read: z.output<Schema>) => unknown = (read) => read,
): Parser<unknown> {
  return shapedParser(schema, (json) => make(parseJson(schema, json, options)))
}

/** A parser of its own kind, with the shape of what it takes stated beside it. */
export function shapedParser<Value>(shape: z.ZodType, parse: (json: unknown) => Value): Parser<Value> {
  return Object.assign((json: unknown) => parse(json), { shape })
}

/** JSON as it is, of a shape that whoever gets it looks at, after checks that come before. */
export const unparsed = (shape: z.ZodType): Parser<unknown> => shapedParser(shape, (json) => json)

/** The shape that a JSON schema tells. */
export const shapeOf = (schema: JsonObject): z.ZodType => z.unknown().meta(schema)
