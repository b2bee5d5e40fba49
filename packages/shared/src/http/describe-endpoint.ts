import { isDeepStrictEqual } from 'node:util'
import type { FailureCode } from '@svc/domain/failure'
import { z } from 'zod'
import type { JsonLimits } from '../wire/index.ts'
import type { Access, Method, Route } from './route.ts'

/** A JSON schema; one with a title is known by it wherever it stands. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** An answer of a route as plain JSON. */
export interface AnswerDescription {
  readonly status: number
  readonly description: string
  /** JSON schemas by content type. */
  readonly content: Readonly<Record<string, JsonSchema>>
}

/** A route without what it does: plain JSON that can be printed, stored and compared. */
export interface EndpointDescription {
  readonly method: Method
  /** Path template with `:name` parameters. */
  readonly path: string
  readonly access: Access
  readonly summary: string
  /** JSON schema of the query, an object; absent where the route takes none. */
  readonly query?: JsonSchema
  /** What the body may cost, and its JSON schema. */
  readonly body?: JsonLimits & {
    readonly limitBytes: number
    readonly optional: boolean
    readonly schema: JsonSchema
  }
  readonly answers: readonly AnswerDescription[]
  readonly failures: readonly FailureCode[]
}

/** What can be told of a route. */
export function describeEndpoint(route: Route): EndpointDescription {
  const { method, path, access, summary, query, body, answers, failures = [] } = route
  return {
    method,
    path,
    access,
    summary,
    ...(query ? { query: schemaOf(query) } : {}),
    ...(body
      ? {
          body: {
            limitBytes: body.limitBytes,
            maxValues: body.maxValues,
            maxNames: body.maxNames,
            maxDepth: body.maxDepth,
            optional: body.optional ?? false,
            schema: schemaOf(body.parse.shape),
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

/** What comes in as it is written; so are answers, whose objects may have more fields than are told. */
function schemaOf(shape: z.ZodType): JsonSchema {
  const { $schema: _, ...schema } = z.toJSONSchema(shape, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      // What is told of every whole number and every object says nothing.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
      if (isDeepStrictEqual(jsonSchema.propertyNames, { type: 'string' })) delete jsonSchema.propertyNames
    },
  })
  return schema
}
