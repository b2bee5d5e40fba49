import type { JsonObject } from '@svc/domain/validation'
import * as z from 'zod'

/** A successful response of a route. */
export interface Answer {
  readonly status: number
  /** What the response means, beyond the summary of the route. */
  readonly description: string
  /** The schema of the body by content type; a string if it is not JSON. Empty for a response without a body. */
  readonly content: Readonly<Record<string, z.ZodType>>
}

/** 200 with JSON that matches a schema. */
export function jsonAnswer(
  shape: z.ZodType,
  options: Partial<Pick<Answer, 'status' | 'description'>> = {},
): Answer {
  return { status: 200, description: 'Success', ...options, content: { 'application/json': shape } }
}

/** Returns the JSON schema of a reader as a schema of a response. It is created when it is needed: that takes a while. */
export const shapeOf = (schema: () => JsonObject): z.ZodType => z.lazy(() => z.unknown().meta(schema()))

/** 200 with text of a content type. */
export const textAnswer = (contentType: string): Answer => ({
  status: 200,
  description: 'Success',
  content: { [contentType]: z.string() },
})

/** 200 with an empty body. */
export const emptyAnswer: Answer = { status: 200, description: 'Success; the body is empty', content: {} }

/** 204 without a body. */
export const noContent = (description: string): Answer => ({ status: 204, description, content: {} })
