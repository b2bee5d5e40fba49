import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ResourceType } from '@svc/domain/access'
import type { FailureCode } from '@svc/domain/failure'
import { type Reader, type Readers, readFields } from '@svc/domain/validation'
import type { Caller } from '../security/index.ts'
import type { JsonLimits } from '../wire/index.ts'
import type { Answer } from './answer.ts'
import { defaultJsonLimits, maxBodyBytes } from './body-limits.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/**
 * Who may call a route. `open` requires no login; `authenticated` requires any login; `internal` is for the servers of
 * the cluster; `permission` requires the given permission, whose name may come from a path parameter; for `stated`, the
 * handler decides based on the request, such as the datasource of a task.
 */
export type Access =
  | { readonly kind: 'open' }
  | { readonly kind: 'authenticated' }
  | { readonly kind: 'internal' }
  | {
      readonly kind: 'permission'
      readonly action: Action
      readonly type: ResourceType
      readonly name: string
    }
  | {
      readonly kind: 'permission'
      readonly action: Action
      readonly type: 'DATASOURCE'
      readonly parameter: string
    }
  | { readonly kind: 'stated'; readonly action: Action; readonly type: ResourceType; readonly about: string }

export type Action = 'READ' | 'WRITE'

/** No login needed. */
export const open: Access = { kind: 'open' }
/** Any login; lists are filtered by the handler. */
export const authenticated: Access = { kind: 'authenticated' }
/** Only the servers of the cluster, as the internal user. */
export const internal: Access = { kind: 'internal' }
/** A permission on the state of the cluster. */
export const state = (action: Action): Access => ({
  kind: 'permission',
  action,
  type: 'STATE',
  name: 'STATE',
})
/** A permission on the configuration of the cluster. */
export const config = (action: Action): Access => ({
  kind: 'permission',
  action,
  type: 'CONFIG',
  name: 'CONFIG',
})
/** A permission on users, roles and mappings. */
export const securityConfig = (action: Action): Access => ({
  kind: 'permission',
  action,
  type: 'CONFIG',
  name: 'security',
})
/** A permission on the datasource that a path parameter names. */
export const datasource = (action: Action, parameter = 'dataSource'): Access => ({
  kind: 'permission',
  action,
  type: 'DATASOURCE',
  parameter,
})
/** A permission on a datasource that only the body or the stored state names. */
export const statedDatasource = (action: Action, about: string): Access => ({
  kind: 'stated',
  action,
  type: 'DATASOURCE',
  about,
})

/** What a handler receives. */
export interface RouteInput<Query, Body> {
  readonly params: Readonly<Record<string, string>>
  readonly query: Query
  readonly body: Body
  readonly caller: Caller
  /** The path prefix of the request: `svc` or an alias. */
  readonly word: string
  /** Whether the caller is a server of the cluster; always true if everything is allowed. */
  readonly isInternal: boolean
  /** Who made a change and why, for the audit log. */
  readonly audit: AuditInfo
  readonly signal: AbortSignal
  /** The raw request and response, for streaming. */
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** The author and comment from the request headers, and the authenticated identity and address of the caller. */
export interface AuditInfo {
  readonly author: string
  readonly comment: string
  readonly identity: string
  readonly ip: string
}

/** A response other than 200 with a JSON body. */
export class Reply {
  readonly status: number
  readonly body: unknown
  readonly headers: Readonly<Record<string, string>>
  /** The body for requests under an alias; same as `body` by default. */
  readonly bodyInAlias: unknown

  constructor(
    status: number,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
    bodyInAlias: unknown = body,
  ) {
    this.status = status
    this.body = body
    this.headers = headers
    this.bodyInAlias = bodyInAlias
  }
}

/**
 * The response to a successful change: 200 with an empty body. Under an alias, it has the JSON body that Druid clients
 * expect.
 */
export const updated = new Reply(200, undefined, {}, { success: true })

/** Returned by a handler that has written to the response itself. */
export const streamed = Symbol('streamed')

/** One endpoint as data, used for Express, the OpenAPI document, and the access tests. */
export interface Route {
  readonly method: Method
  readonly path: string
  readonly access: Access
  readonly summary: string
  /** The datasource in the path may be any name that rules can be set for. */
  readonly isForRules?: boolean
  readonly query?: Reader<unknown> | undefined
  readonly body?: BodyDefinition | undefined
  /** The successful responses, for the OpenAPI document. */
  readonly answers: readonly Answer[]
  /** Failures in addition to those that any such request can have. */
  readonly failures?: readonly FailureCode[]
  /**
   * Returns the response: a JSON value with 200, undefined for 200 with an empty body, a Reply, JsonPieces, or
   * `streamed`.
   */
  handle(input: RouteInput<never, never>): unknown
}

/** How a JSON body is read, and its limits, which are checked first. */
export interface BodyDefinition extends JsonLimits {
  readonly read: Reader<unknown>
  /** Max length in bytes, decompressed. */
  readonly limitBytes: number
  /** The body is optional; without one, `read` gets undefined. */
  readonly optional?: boolean
}

interface TypedRoute<Query, Body> extends Omit<Route, 'handle' | 'query' | 'body'> {
  /** The readers of the query parameters. A parameter is required if its reader refuses undefined. */
  readonly query?: Readers<Query>
  /** Whether unknown query parameters are refused instead of ignored. */
  readonly refusesOtherParameters?: boolean
  readonly body?: BodyDefinition & { readonly read: Reader<Body> }
  handle(input: RouteInput<Query, Body>): unknown
}

/** Creates a route whose handler gets the types of `query` and `body`. */
export function route<Query extends object = object, Body = undefined>({
  query,
  refusesOtherParameters = false,
  ...definition
}: TypedRoute<Query, Body>): Route {
  const readQuery = query && readFields(query, { ignoresOthers: !refusesOtherParameters })
  return { ...(definition as unknown as Route), query: readQuery }
}

/** Returns the definition of a JSON body, of at most 1 MiB by default. */
export function jsonBody<Body>(
  read: Reader<Body>,
  { limitBytes = maxBodyBytes, optional = false, ...limits }: BodyOptions = {},
): BodyDefinition & { readonly read: Reader<Body> } {
  return { read, limitBytes, optional, ...defaultJsonLimits, ...limits }
}

interface BodyOptions extends Partial<JsonLimits> {
  readonly limitBytes?: number
  readonly optional?: boolean
}
