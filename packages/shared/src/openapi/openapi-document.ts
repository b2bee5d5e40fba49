import { isDeepStrictEqual } from 'node:util'
import type { Role } from '../config/index.ts'
import {
  type Access,
  type AnswerDescription,
  type EndpointDescription,
  errorSchema,
  statusOf,
} from '../http/index.ts'

/** The endpoints of a server of one role. */
export interface ServerEndpoints {
  readonly role: Role
  readonly endpoints: readonly EndpointDescription[]
}

type Json = Readonly<Record<string, unknown>>

/** One operation of the document. */
export interface OpenApiOperation {
  readonly tags: readonly string[]
  readonly summary: string
  readonly description: string
  /** Who may call the operation, for clients that evaluate it. */
  readonly 'x-access': Access
  readonly operationId: string
  /** The servers that offer it, if not the router. */
  readonly servers?: readonly Json[]
  readonly parameters: readonly Json[]
  readonly requestBody?: Json
  readonly responses: Readonly<Record<string, Json>>
  readonly security: readonly Json[]
}

/** An OpenAPI 3.1 document. */
export interface OpenApiDocument {
  readonly openapi: '3.1.0'
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly servers: readonly Json[]
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>
  readonly components: Json
}

const roleDescriptions: Partial<Record<Role, string>> = {
  router: 'Handled by the router itself',
  coordinator: 'Forwarded to the coordinator leader: rules, servers, datasources, users, and roles',
  overlord: 'Forwarded to the overlord leader: tasks, supervisors, and compaction',
  broker: 'Forwarded to a broker: queries, and the segments that can be queried',
  historical: 'Available only on the historicals themselves: the router does not forward these requests',
}

/** The URL of a historical; the list of servers returns their addresses. */
const historicalServers: readonly Json[] = [
  {
    url: 'https://{historical}',
    description: 'A historical',
    variables: { historical: { default: 'localhost:8283', description: 'Host and port of the historical' } },
  },
]

/**
 * Returns the path of an endpoint in the document: its path at the router, or at a historical. Returns undefined for
 * internal endpoints, and for endpoints of every server that the document lists only once.
 */
function pathInDocument(role: Role, path: string): string | undefined {
  if (/^\/svc-internal\//.test(path)) return undefined
  if (role === 'router') return path
  if (role === 'coordinator' && /^\/svc\/(coordinator|simulation)\//.test(path)) return path
  if (role === 'overlord' && path.startsWith('/svc/indexer/')) return path
  if (role === 'broker') return /^\/svc\/(broker|v2)(\/|$)/.test(path) ? path : undefined
  if (role === 'historical') return path.startsWith('/svc/historical/') ? path : undefined
  return role === 'coordinator' || role === 'overlord' ? `/proxy/${role}${path}` : undefined
}

/** Returns the entire API as the router offers it, plus the endpoints of historicals, sorted by path. */
export function openApiDocument(servers: readonly ServerEndpoints[], version: string): OpenApiDocument {
  const paths = new Map<string, Map<string, OpenApiOperation>>()
  const shapes = createShapes()
  for (const { role, endpoints } of servers) {
    for (const endpoint of endpoints) {
      const path = pathInDocument(role, endpoint.path)
      if (path === undefined) continue
      const template = path.replace(/:(\w+)/g, '{$1}')
      const methods = paths.get(template) ?? new Map<string, OpenApiOperation>()
      methods.set(endpoint.method.toLowerCase(), operationOf(role, template, endpoint, shapes))
      paths.set(template, methods)
    }
  }
  const sorted = [...paths].sort(([left], [right]) => (left < right ? -1 : 1))
  return {
    openapi: '3.1.0',
    info: {
      title: 'svc',
      version,
      description:
        'The management API of an svc cluster, as served by the router: paths, parameters, permissions, and the schemas of requests and responses. Responses may contain additional fields. A coordinator that is not the leader returns 307 with the address of the leader; the router follows this redirect itself.',
    },
    servers: [{ url: '/', description: 'The router that serves this document' }],
    tags: Object.entries(roleDescriptions).map(([name, description]) => ({ name, description })),
    paths: Object.fromEntries(sorted.map(([path, methods]) => [path, Object.fromEntries(methods)])),
    components: {
      securitySchemes: { basic: { type: 'http', scheme: 'basic' } },
      schemas: { Error: errorSchema(), ...shapes.byTitle() },
      responses: {
        Error: errorResponse('The request failed; the body says why'),
        Busy: errorResponse('Too many concurrent queries or large requests, or too many failed logins', {
          'Retry-After': {
            description: 'Seconds to wait before retrying, if known',
            schema: { type: 'integer' },
          },
        }),
        Unavailable: errorResponse('A required dependency is unavailable', {
          'Retry-After': { description: 'Seconds to wait before retrying', schema: { type: 'integer' } },
        }),
      },
    },
  }
}

const errorResponse = (description: string, headers?: Json): Json => ({
  description,
  ...(headers ? { headers } : {}),
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
})

/** The named schemas of the document, by their titles. */
interface Shapes {
  /** Returns the schema with references in place of all schemas in it that have a title. */
  refer(schema: Json): Json
  byTitle(): Readonly<Record<string, Json>>
}

function createShapes(): Shapes {
  const found = new Map<string, Json>()
  const referIn = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(referIn)
    return typeof value === 'object' && value !== null ? refer(value as Json) : value
  }
  function refer({ title, ...schema }: Json): Json {
    const inner = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, referIn(value)]))
    if (typeof title !== 'string') return title === undefined ? inner : { ...inner, title: referIn(title) }
    const known = found.get(title) ?? inner
    if (!isDeepStrictEqual(known, inner)) throw new Error(`Two different schemas have the title [${title}]`)
    found.set(title, inner)
    return { $ref: `#/components/schemas/${title}` }
  }
  return {
    refer,
    byTitle: () => Object.fromEntries([...found].sort(([left], [right]) => (left < right ? -1 : 1))),
  }
}

function operationOf(
  role: Role,
  template: string,
  endpoint: EndpointDescription,
  shapes: Shapes,
): OpenApiOperation {
  const { method, summary, query, body } = endpoint
  const access = accessAtRouter(role, endpoint.access)
  const pathParameters = [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
  const isOpen = access.kind === 'open'
  return {
    tags: [role],
    summary,
    description: describeAccess(access),
    'x-access': endpoint.access,
    operationId: `${method.toLowerCase()}${template.replace(/[^A-Za-z0-9]+(\w)?/g, (_, next = '') => next.toUpperCase())}`,
    ...(role === 'historical' ? { servers: historicalServers } : {}),
    parameters: [...pathParameters, ...queryParameters(query)],
    ...(body
      ? {
          requestBody: {
            required: !body.optional,
            description: `At most ${body.limitBytes} bytes, ${body.maxValues} values, ${body.maxNames} different field names, and ${body.maxDepth} levels of nesting`,
            content: { 'application/json': { schema: shapes.refer(body.schema) } },
          },
        }
      : {}),
    responses: {
      ...Object.fromEntries(
        statusesOf(access, endpoint).map((status) => [
          status,
          { $ref: `#/components/responses/${responseNames[status] ?? 'Error'}` },
        ]),
      ),
      ...Object.fromEntries(endpoint.answers.map((answer) => [answer.status, responseOf(answer, shapes)])),
    },
    security: isOpen ? [{}] : [{ basic: [] }],
  }
}

const responseNames: Readonly<Record<number, string>> = {
  [statusOf.busy]: 'Busy',
  [statusOf.unavailable]: 'Unavailable',
}

function responseOf({ description, content }: AnswerDescription, shapes: Shapes): Json {
  const types = Object.entries(content).map(([type, schema]) => [type, { schema: shapes.refer(schema) }])
  return { description, ...(types.length > 0 ? { content: Object.fromEntries(types) } : {}) }
}

function queryParameters(query: EndpointDescription['query']): Json[] {
  const properties = (query?.properties ?? {}) as Record<string, Json>
  const required = (query?.required ?? []) as readonly string[]
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    // Only the presence of such a parameter matters, so it needs no value.
    allowEmptyValue: Object.keys(schema).length === 0,
    schema,
  }))
}

/** The router requires a login for every request that it forwards, even if the server does not. */
function accessAtRouter(role: Role, access: Access): Access {
  const isForwarded = role !== 'router' && role !== 'historical'
  return access.kind === 'open' && isForwarded ? { kind: 'authenticated' } : access
}

function statusesOf(access: Access, { body, failures }: EndpointDescription): number[] {
  return [
    statusOf.invalidInput,
    // Every endpoint with a login returns 429 after too many failed logins.
    ...(access.kind === 'open' ? [] : [statusOf.unauthorized, statusOf.busy]),
    ...(access.kind === 'open' || access.kind === 'authenticated' ? [] : [statusOf.forbidden]),
    statusOf.notFound,
    ...(body
      ? [statusOf.requestTimedOut, statusOf.tooLarge, statusOf.unsupportedMediaType, statusOf.busy]
      : []),
    ...failures.map((failure) => statusOf[failure]),
    statusOf.unavailable,
  ]
}

function describeAccess(access: Access): string {
  switch (access.kind) {
    case 'open':
      return 'Requires no login.'
    case 'authenticated':
      return 'Requires a login. Lists contain only what the caller may read.'
    case 'internal':
      return 'Only servers of the cluster may call this endpoint.'
    case 'stated':
      return `Requires ${access.action} on ${access.about}.`
    default:
      return 'name' in access
        ? `Requires ${access.action} on ${access.type} [${access.name}].`
        : `Requires ${access.action} on ${access.type} {${access.parameter}}.`
  }
}
