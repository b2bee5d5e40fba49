import { type Exchange, isSame } from './exchange.ts'

const authentication = '/druid-ext/basic-security/authentication'
const authorization = '/druid-ext/basic-security/authorization'

/** A known difference between svc and Druid 37. */
export interface Difference {
  readonly name: string
  /** The requests that it concerns, for people. */
  readonly endpoint: string
  readonly condition: string
  readonly druid: string
  readonly svc: string
  readonly reason: string
  /** Whether it explains that these answers differ. */
  explains(exchange: Exchange): boolean
}

/** The message of an error answer. */
const messageOf = ({ json }: Exchange['svc']): string => JSON.stringify(json ?? '')

/** The name of the difference that may cover any share of the requests. */
export const invalidInput = 'invalid input'

/** The differences, the first that applies counts. */
export const differences: readonly Difference[] = [
  {
    name: invalidInput,
    endpoint: 'all',
    condition: 'a parameter or a field is invalid or unknown',
    druid: 'ignores it, stores it, or returns 404 or 500',
    svc: '400; the message names the field, the value, and what is expected',
    reason: 'A mistake is found where it is made, and cannot change what a cluster loads or drops.',
    explains: ({ druid, svc }) =>
      svc.status === 400 && druid.status !== 400 && /\[[^\]]*\]/.test(messageOf(svc)),
  },
  {
    name: 'server error in Druid',
    endpoint: 'all',
    condition:
      'Druid fails, for example for an empty list of intervals, `loadqueue?full`, or unknown users and roles',
    druid: '500',
    svc: 'the answer for what was requested, or 404',
    reason: 'No client can rely on an internal error.',
    explains: ({ druid, svc }) => druid.status >= 500 && svc.status < 500,
  },
  {
    name: 'password hashes',
    endpoint: '`GET …/authentication/db/{authenticator}/users/{user}`',
    condition: 'the user has a password',
    druid: 'shows the salt, the hash, and the number of iterations',
    svc: 'shows only the algorithm',
    reason: 'A password can be guessed offline from its hash.',
    explains: bothSucceed(
      ({ request, druid, svc }) =>
        request.endpoint.startsWith(`GET ${authentication}`) && namesOf(druid).join() === namesOf(svc).join(),
    ),
  },
  {
    name: 'permissions of the administrator',
    endpoint: '`GET …/authorization/db/{authorizer}/roles/admin`, and responses that include its permissions',
    condition: 'the role `admin`',
    druid: 'also lists the resource types EXTERNAL, QUERY_CONTEXT, SYSTEM_TABLE, and VIEW',
    svc: 'lists DATASOURCE, STATE, and CONFIG',
    reason: 'svc has no resources of the other types.',
    explains: bothSucceed(
      ({ request, druid }) =>
        request.endpoint.startsWith(`GET ${authorization}`) && druid.text.includes('"QUERY_CONTEXT"'),
    ),
  },
  {
    name: 'compaction status of an unknown datasource',
    endpoint: '`GET /druid/indexer/v1/compaction/status/datasources/{dataSource}`',
    condition: 'the datasource has no compaction status',
    druid: '404',
    svc: '`{"latestStatus":[]}`',
    reason: 'The documented answer is a list with zero or one entry.',
    explains: ({ request, druid, svc }) =>
      request.endpoint.endsWith('/compaction/status/datasources/:dataSource') &&
      druid.status === 404 &&
      svc.text === '{"latestStatus":[]}',
  },
  {
    name: 'rows of unused segments',
    endpoint: '`GET …/metadata/datasources/{dataSource}/unusedSegments`',
    condition: 'the datasource has unused segments',
    druid: '`numRows` is null unless segment schemas are stored centrally',
    svc: '`numRows` is the number of rows',
    reason: 'svc always knows the number.',
    explains: equalWithout('numRows', (endpoint) => endpoint.endsWith('/unusedSegments')),
  },
  {
    name: 'type of a compaction configuration',
    endpoint: '`GET …/config/compaction…`, `GET …/compaction/config/datasources…`, and their histories',
    condition: 'the datasource has a compaction configuration',
    druid: 'adds `"type":"inline"`',
    svc: 'omits the type, and accepts it',
    reason: 'It is the only type, and the field is not part of the documented configuration.',
    explains: equalWithout(
      'type',
      (endpoint) => /compaction\/config|config\/compaction/.test(endpoint),
      'inline',
    ),
  },
  {
    name: 'number of marked segments',
    endpoint: '`POST …/markUsed`, `POST …/markUnused`, `POST` and `DELETE …/segments/{segmentId}`, by ID',
    condition: 'some of the segments are already in the requested state',
    druid: 'counts them, too',
    svc: 'counts the segments that changed',
    reason:
      'The field is named `numChangedSegments`, and Druid counts the same way if segments are selected by interval.',
    explains: bothSucceed(
      ({ request, druid, svc }) =>
        /\/mark(Used|Unused)$|\/segments\/:segment$/.test(request.endpoint) &&
        request.method !== 'GET' &&
        (request.json === undefined || JSON.stringify(request.json).includes('segmentIds')) &&
        countOf(druid) > countOf(svc),
    ),
  },
]

/** The condition for requests that succeed in both systems. */
function bothSucceed(applies: Difference['explains']): Difference['explains'] {
  return (exchange) => exchange.druid.status < 300 && exchange.svc.status < 300 && applies(exchange)
}

/** The condition for answers that are equal without the fields of this name, or only those with this value. */
function equalWithout(
  name: string,
  concerns: (endpoint: string) => boolean,
  value?: string,
): Difference['explains'] {
  const omit = (json: unknown): unknown =>
    JSON.parse(
      JSON.stringify(json ?? null, (key, inner: unknown) =>
        key === name && (value === undefined || inner === value) ? undefined : inner,
      ),
    )
  return bothSucceed(
    (exchange) =>
      concerns(exchange.request.endpoint) &&
      isSame({
        ...exchange,
        druid: { ...exchange.druid, json: omit(exchange.druid.json) },
        svc: { ...exchange.svc, json: omit(exchange.svc.json) },
      }),
  )
}

const namesOf = ({ json }: Exchange['svc']): string[] => Object.keys(json ?? {})

function countOf({ json }: Exchange['svc']): number {
  const { numChangedSegments, segmentStateChanged } = json as {
    numChangedSegments?: number
    segmentStateChanged?: boolean
  }
  return numChangedSegments ?? Number(segmentStateChanged)
}
