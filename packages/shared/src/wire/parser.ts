import type { JsonObject } from '@svc/domain/validation'
import { z } from 'zod'
import { parseJson, type RefusalOptions } from './parse-json.ts'

/** Parses and validates JSON, and has the schema of its input. */
export interface Parser<Value> {
  (json: unknown): Value
  /** The schema of the input. The parser may reject more, such as invalid combinations of fields. */
  readonly shape: z.ZodType
}

/** Returns a parser with a schema. */
export function parserOf<Schema extends z.ZodType>(
  schema: Schema,
  options: RefusalOptions,
): Parser<z.output<Schema>>
/** Returns a parser with a schema; `make` converts the validated input, and may still reject it. */
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

/** Returns a custom parser with the schema of its input. */
export function shapedParser<Value>(shape: z.ZodType, parse: (json: unknown) => Value): Parser<Value> {
  return Object.assign((json: unknown) => parse(json), { shape })
}

/** Returns a parser that does nothing: the handler validates the JSON, after its other checks. */
export const unparsed = (shape: z.ZodType): Parser<unknown> => shapedParser(shape, (json) => json)

/** Returns a JSON schema as a Zod type for documentation. */
export const shapeOf = (schema: JsonObject): z.ZodType => z.unknown().meta(schema)
