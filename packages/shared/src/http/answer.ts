import { z } from 'zod'

/** One way in which a route answers what it can do. */
export interface Answer {
  readonly status: number
  /** What it means, beyond the summary of the route. */
  readonly description: string
  /** The shape of the body by its content type: a text where it is no JSON. An answer without a body has none. */
  readonly content: Readonly<Record<string, z.ZodType>>
}

/** 200 with JSON of a shape. */
export function jsonAnswer(
  shape: z.ZodType,
  options: Partial<Pick<Answer, 'status' | 'description'>> = {},
): Answer {
  return { status: 200, description: 'Done', ...options, content: { 'application/json': shape } }
}

/** 200 with a text of a content type. */
export const textAnswer = (contentType: string): Answer => ({
  status: 200,
  description: 'Done',
  content: { [contentType]: z.string() },
})

/** 200 with an empty body. */
export const emptyAnswer: Answer = { status: 200, description: 'Done; the body is empty', content: {} }

/** 204: there is nothing to tell. */
export const noContent = (description: string): Answer => ({ status: 204, description, content: {} })
