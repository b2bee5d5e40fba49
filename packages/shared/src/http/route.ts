import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ResourceType } from '@svc/domain/access'
import type { FailureCode } from '@svc/domain/failure'
import type { z } from 'zod'
import type { Caller } from '../security/index.ts'
import type { JsonLimits, Parser } from '../wire/index.ts'
import type { Answer } from './answer.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/**
 * Who may call a route. `open` needs no login; `authenticated` any login; `internal` is for the servers among
 * themselves; `permission` needs the named permission, whose name may come from a path parameter; `stated` is
 * decided by the handler from what the request names (a task's datasource), with `authorize` of its input.
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
/** Only the servers of the cluster, as the escalator. */
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
  /** The word by which is asked: `svc`, or that of an alias. */
  readonly word: string
  /** Whether a server of the cluster asks; anyone is one where everything is allowed. */
  readonly isInternal: boolean
  /** Who made a change and why, for the audit log. */
  readonly audit: AuditInfo
  readonly signal: AbortSignal
  /** The bare request and response, for what streams. */
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** The author and comment that a caller states, the identity that was proved, and the address it came from. */
export interface AuditInfo {
  readonly author: string
  readonly comment: string
  readonly identity: string
  readonly ip: string
}

/** An answer other than 200 with a JSON body. */
export class Reply {
  readonly status: number
  readonly body: unknown
  readonly headers: Readonly<Record<string, string>>
  /** The body for requests that came by an alias; that of all where left out. */
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
 * The answer to a change that clients of other makes read: 200 with an empty body, as the interface has it, and under
 * an alias the JSON without which they take the change for failed.
 */
export const updated = new Reply(200, undefined, {}, { success: true })

/** The answer of a handler that has written to the response itself. */
export const streamed = Symbol('streamed')

/** One endpoint as data: it mounts Express, makes the OpenAPI document and drives the access tests. */
export interface Route {
  readonly method: Method
  readonly path: string
  readonly access: Access
  readonly summary: string
  /** The datasource of the path may have any name that rules can be set for. */
  readonly isForRules?: boolean
  readonly query?: z.ZodType | undefined
  readonly body?: BodyDefinition | undefined
  /** What it answers where it can do what it is asked, as the OpenAPI document tells it. */
  readonly answers: readonly Answer[]
  /** How it may fail beyond what a request of its kind always may. */
  readonly failures?: readonly FailureCode[]
  /** The answer: JSON with 200, undefined for 200 with an empty body, a Reply, JsonPieces, or `streamed`. */
  handle(input: RouteInput<never, never>): unknown
}

/** How a JSON body is checked, and what it may cost; its limits are checked before a value is built from it. */
export interface BodyDefinition extends JsonLimits {
  readonly parse: Parser<unknown>
  /** Max length in bytes, decompressed. */
  readonly limitBytes: number
  /** The body may be left out; `parse` then sees undefined. */
  readonly optional?: boolean
}

interface TypedRoute<Query, Body> extends Omit<Route, 'handle' | 'query' | 'body'> {
  readonly query?: z.ZodType<Query>
  readonly body?: BodyDefinition & { readonly parse: Parser<Body> }
  handle(input: RouteInput<Query, Body>): unknown
}

/** Makes a route; `query` and `body` give their types to the handler. */
export function route<Query = unknown, Body = undefined>(definition: TypedRoute<Query, Body>): Route {
  return definition as unknown as Route
}

/** Largest body of rules and configurations. */
export const configLimitBytes = 1024 * 1024

/** What a body may cost where its route says nothing else. */
const usualLimits: JsonLimits = { maxValues: 200_000, maxNames: 20_000, maxDepth: 100 }

/** A JSON body of at most 1 MiB that `parse` checks. */
export function jsonBody<Body>(
  parse: Parser<Body>,
  { limitBytes = configLimitBytes, optional = false, ...limits }: BodyOptions = {},
): BodyDefinition & { readonly parse: Parser<Body> } {
  return { parse, limitBytes, optional, ...usualLimits, ...limits }
}

interface BodyOptions extends Partial<JsonLimits> {
  readonly limitBytes?: number
  readonly optional?: boolean
}
