import { isDeepStrictEqual } from 'node:util'
import type { FailureCode } from '@svc/domain/failure'
import { schemaOf as schemaOfReader } from '@svc/domain/validation'
import * as z from 'zod'
import type { JsonLimits } from '../wire/index.ts'
import type { Access, Method, Route } from './route-definition.ts'

/** A JSON schema. One with a title becomes a named schema of the OpenAPI document. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** A successful response of a route as plain JSON. */
export interface AnswerDescription {
  readonly status: number
  readonly description: string
  /** JSON schemas by content type. */
  readonly content: Readonly<Record<string, JsonSchema>>
}

/** A route without its handler: plain JSON that can be printed, stored, and compared. */
export interface EndpointDescription {
  readonly method: Method
  /** Path template with `:name` parameters. */
  readonly path: string
  readonly access: Access
  readonly summary: string
  /** JSON schema of the query, an object; absent if the route has no query parameters. */
  readonly query?: JsonSchema
  /** The limits and the JSON schema of the body. */
  readonly body?: JsonLimits & {
    readonly limitBytes: number
    readonly optional: boolean
    readonly schema: JsonSchema
  }
  readonly answers: readonly AnswerDescription[]
  readonly failures: readonly FailureCode[]
}

/** Returns the description of a route. */
export function describeEndpoint(route: Route): EndpointDescription {
  const { method, path, access, summary, query, body, answers, failures = [] } = route
  return {
    method,
    path,
    access,
    summary,
    ...(query ? { query: schemaOfReader(query) } : {}),
    ...(body
      ? {
          body: {
            limitBytes: body.limitBytes,
            maxValues: body.maxValues,
            maxNames: body.maxNames,
            maxDepth: body.maxDepth,
            optional: body.optional ?? false,
            schema: schemaOfReader(body.read),
          },
        }
      : {}),
    answers: answers.map(({ status, description, content }) => ({
      status,
      description,
      content: Object.fromEntries(Object.entries(content).map(([type, shape]) => [type, schemaOf(shape)])),
    })),
    failures,
  }
}

/** Returns the JSON schema of a response. Its input side allows additional fields. */
export function schemaOf(shape: z.ZodType): JsonSchema {
  const { $schema: _, ...schema } = z.toJSONSchema(shape, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      // Zod adds these to every integer and every object, so they carry no information.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
      if (isDeepStrictEqual(jsonSchema.propertyNames, { type: 'string' })) delete jsonSchema.propertyNames
    },
  })
  return schema
}
