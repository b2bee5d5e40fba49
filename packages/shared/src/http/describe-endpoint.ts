import { z } from 'zod'
import type { Access, Method, Route } from './route.ts'

/** A route without what it does: plain JSON that can be printed, stored and compared. */
export interface EndpointDescription {
  readonly method: Method
  /** Path template with `:name` parameters. */
  readonly path: string
  readonly access: Access
  readonly summary: string
  /** JSON schema of the query, an object; absent where the route takes none. */
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: { readonly limitBytes: number; readonly optional: boolean }
}

/** What can be told of a route. */
export function describeEndpoint({ method, path, access, summary, query, body }: Route): EndpointDescription {
  return {
    method,
    path,
    access,
    summary,
    ...(query ? { query: z.toJSONSchema(query, { io: 'input', unrepresentable: 'any' }) } : {}),
    ...(body ? { body: { limitBytes: body.limitBytes, optional: body.optional ?? false } } : {}),
  }
}
