import { basicAuthorization } from '@svc/shared/testing'
import type { Endpoint } from '../support/route-tables.ts'
import { brokenBodies, fillers } from './fillers.ts'
import { hostileNames } from './hostile-names.ts'
import { attackedDataSource, shapedBodies } from './shaped-bodies.ts'

/** The part of a request that an input class makes hostile. */
type Part = 'body' | 'query' | 'headers' | 'path' | 'connection' | 'stored'

/**
 * How a request is written to its connection: in chunks of one byte, in TLS records of one byte, many times without waiting for
 * responses, or not at all.
 */
export type Manner = 'tiny chunks' | 'tiny records' | 'pipelined' | 'idle'

/** A hostile part of a request; missing parts are as in an ordinary request. */
export interface HostileInput {
  readonly path?: string
  /** Without the question mark. */
  readonly query?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer
  /** All at once by default. */
  readonly manner?: Manner
  /** Number of requests on the connection, if they are pipelined. */
  readonly count?: number
}

/** One way to make a request hostile. */
export interface InputClass {
  readonly part: Part
  /** Unique within an endpoint. */
  readonly name: string
  /** Whether it is derived from the schema of the endpoint. */
  readonly isShaped: boolean
  /** Whether it has a login, so that the request is the same for each caller. */
  readonly hasOwnLogin?: boolean
  build(sizeBytes: number): HostileInput
}

const json = { 'content-type': 'application/json' }

function bodyClass(name: string, isShaped: boolean, text: (sizeBytes: number) => string): InputClass {
  return {
    part: 'body',
    name,
    isShaped,
    build: (sizeBytes) => ({ headers: json, body: Buffer.from(text(sizeBytes)) }),
  }
}

const genericBodies: readonly InputClass[] = [
  ...Object.entries(fillers).map(([name, filler]) => bodyClass(name, false, filler)),
  ...Object.entries(brokenBodies).map(
    ([name, build]): InputClass => ({
      part: 'body',
      name,
      isShaped: false,
      build: (sizeBytes) => {
        const { bytes, encoding } = build(sizeBytes)
        const headers = encoding === undefined ? json : { ...json, 'content-encoding': encoding }
        return { headers, body: bytes }
      },
    }),
  ),
]

function queryClass(name: string, query: (sizeBytes: number) => string): InputClass {
  return { part: 'query', name, isShaped: false, build: (sizeBytes) => ({ query: query(sizeBytes) }) }
}

const genericQueries: readonly InputClass[] = [
  queryClass('long query', (sizeBytes) => `x=${'a'.repeat(sizeBytes)}`),
  queryClass('many parameters', (sizeBytes) => 'a&'.repeat(Math.floor(sizeBytes / 2))),
  queryClass('same parameter', (sizeBytes) => 'full=1&'.repeat(Math.floor(sizeBytes / 7))),
  queryClass('nested parameters', (sizeBytes) => `a${'[b]'.repeat(Math.floor(sizeBytes / 3))}=1`),
  queryClass('escaped query', (sizeBytes) => `x=${'%00%ed%a0%80'.repeat(Math.floor(sizeBytes / 12))}`),
]

const headerNameLength = 8

function headersClass(name: string, headers: (sizeBytes: number) => Record<string, string>): InputClass {
  return { part: 'headers', name, isShaped: false, build: (sizeBytes) => ({ headers: headers(sizeBytes) }) }
}

const withOwnLogin = (inputClass: InputClass): InputClass => ({ ...inputClass, hasOwnLogin: true })

const genericHeaders: readonly InputClass[] = [
  headersClass('long header', (sizeBytes) => ({ 'x-svc-comment': 'a'.repeat(sizeBytes) })),
  headersClass('blank header', (sizeBytes) => ({ 'x-svc-author': `a${' \t'.repeat(sizeBytes / 2)}a` })),
  headersClass('many headers', (sizeBytes) =>
    Object.fromEntries(
      Array.from({ length: Math.floor(sizeBytes / (headerNameLength + 5)) }, (_, index) => [
        `x-${index.toString(36).padStart(headerNameLength - 2, '0')}`,
        'a',
      ]),
    ),
  ),
  headersClass('long content type', (sizeBytes) => ({
    'content-type': `application/${'a.'.repeat(sizeBytes / 2)}json`,
  })),
  ...[
    headersClass('long login', (sizeBytes) => ({
      authorization: basicAuthorization(
        `${'a'.repeat(Math.floor(sizeBytes / 2))}:${'b'.repeat(sizeBytes / 8)}`,
      ),
    })),
    ...hostileNames.map(({ kind, text }) =>
      headersClass(`login with ${kind}`, () => ({ authorization: basicAuthorization(`${text}:password`) })),
    ),
  ].map(withOwnLogin),
]

function connectionClass(name: string, input: (sizeBytes: number) => HostileInput): InputClass {
  return { part: 'connection', name, isShaped: false, build: input }
}

const maxPipelined = 100
const blanks = (sizeBytes: number): HostileInput => ({ headers: json, body: Buffer.alloc(sizeBytes, ' ') })

const connectionClasses: readonly InputClass[] = [
  connectionClass('chunks of one byte', (sizeBytes) => ({ ...blanks(sizeBytes), manner: 'tiny chunks' })),
  connectionClass('records of one byte', (sizeBytes) => ({ ...blanks(sizeBytes), manner: 'tiny records' })),
  connectionClass('pipelined', () => ({ manner: 'pipelined', count: maxPipelined })),
  withOwnLogin(
    connectionClass('pipelined wrong logins', () => ({
      headers: { authorization: basicAuthorization('nosuchuser:wrong-password') },
      manner: 'pipelined',
      count: maxPipelined,
    })),
  ),
]

// Paths of objects that exist, so that requests are not answered with "not found".
const parameters: Readonly<Record<string, string>> = {
  dataSource: attackedDataSource,
  authenticator: 'MyBasicMetadataAuthenticator',
  authorizer: 'MyBasicMetadataAuthorizer',
  tier: '_default_tier',
  interval: '2026-01-01_2026-01-02',
  supervisor: `autocompact__${attackedDataSource}`,
}

/**
 * The path of an endpoint with values for its parameters; `hostile` replaces each parameter that is not an
 * authenticator.
 */
export function pathOf({ path }: Endpoint, hostile?: string): string {
  return path.replace(/:(\w+)/g, (_, name: string) => {
    const isFixed = name === 'authenticator' || name === 'authorizer'
    return isFixed || hostile === undefined ? (parameters[name] ?? `hostile-${name}`) : hostile
  })
}

function pathClasses(endpoint: Endpoint): InputClass[] {
  if (pathOf(endpoint, 'x') === pathOf(endpoint, 'y')) return []
  const names = [
    ...hostileNames.map(({ kind, escaped }) => ({ kind, value: () => escaped })),
    { kind: 'long name', value: (sizeBytes: number) => 'a'.repeat(sizeBytes) },
    {
      kind: 'long escaped name',
      value: (sizeBytes: number) => '%e2%80%ae'.repeat(Math.floor(sizeBytes / 9)),
    },
  ]
  return names.map(({ kind, value }) => ({
    part: 'path',
    name: `path with ${kind}`,
    isShaped: false,
    build: (sizeBytes) => ({ path: pathOf(endpoint, value(sizeBytes)) }),
  }))
}

/** A long and a hostile value for each query parameter of the endpoint. */
function ownQueryClasses({ query }: Endpoint): InputClass[] {
  const names = Object.keys((query?.properties ?? {}) as object)
  return names.flatMap((name) => [
    queryClass(`parameter ${name}: long`, (sizeBytes) => `${name}=${'9'.repeat(sizeBytes)}`),
    queryClass(`parameter ${name}: list`, (sizeBytes) => `${name}=a&`.repeat(sizeBytes / (name.length + 3))),
    queryClass(
      `parameter ${name}: hostile`,
      (sizeBytes) =>
        `${name}=${hostileNames
          .map(({ escaped }) => escaped)
          .join('')
          .repeat(Math.ceil(sizeBytes / 80))}`,
    ),
  ])
}

/** All input classes of an endpoint. */
export function classesOf(endpoint: Endpoint): InputClass[] {
  const shaped = endpoint.body
    ? shapedBodies(endpoint.body.schema).map(({ name, text }) => bodyClass(name, true, text))
    : []
  return [
    ...genericBodies,
    ...shaped,
    ...genericQueries,
    ...ownQueryClasses(endpoint),
    ...genericHeaders,
    ...pathClasses(endpoint),
    ...connectionClasses,
  ]
}
