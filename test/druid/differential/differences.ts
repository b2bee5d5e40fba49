import { securityResource } from '@svc/domain/access'
import { ascending } from '@svc/domain/order'
import { contains, dayMs, type Interval, overlaps, parseInterval } from '@svc/domain/time'
import { type Exchange, isSame, normalize } from './exchange.ts'
import type { State } from './state.ts'

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
  /** Whether it explains that these answers differ, or that equal answers leave both systems in different states. */
  explains(exchange: Exchange): boolean
  /** Whether both systems are in different states after such an exchange, even if both have succeeded. */
  readonly separates?: boolean
}

interface CompactionStatus {
  readonly dataSource: string
  readonly [figure: string]: unknown
}

interface CompactionStatuses {
  readonly latestStatus?: readonly CompactionStatus[]
}

interface ShownResource {
  readonly resource?: { readonly type?: string; readonly name?: string }
}

/** A permission, of which some answers also show the pattern. */
interface ShownPermission extends ShownResource {
  readonly resourceAction?: ShownResource
}

interface ShownTask {
  readonly type: string
}

interface ShownWorker {
  readonly worker: { readonly capacity: number }
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
    druid: 'ignores the parameter or field, stores it, or returns 404 or 500',
    svc: '400; the message names the field, the value, and what is expected',
    reason: 'Callers notice a mistake immediately, before it changes what a cluster loads or drops.',
    explains: ({ druid, svc }) =>
      svc.status === 400 && druid.status !== 400 && /\[[^\]]*\]/.test(messageOf(svc)),
  },
  {
    name: 'server error in Druid',
    endpoint: 'all',
    condition:
      'Druid fails, for example for an empty list of intervals, `loadqueue?full`, or unknown users and roles',
    druid: '500',
    svc: 'the requested answer, or 404',
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
    condition: 'the role is `admin`, or the role of the internal user',
    druid: 'lists READ and WRITE on `.*` of each resource type',
    svc: 'also lists READ and WRITE on `security` of the type CONFIG',
    reason: 'In svc, a permission to change users and roles must name `security`; `.*` is not enough.',
    explains: bothSucceed((exchange) => {
      const { request, svc } = exchange
      if (!request.endpoint.startsWith(`GET ${authorization}`)) return false
      const isOfAdministrator = administrators.test(request.path)
      return isSame({ ...exchange, svc: { ...svc, json: withoutSecurity(svc.json, isOfAdministrator) } })
    }),
  },
  {
    name: 'configuration of workers',
    endpoint: '`GET /druid/indexer/v1/worker`',
    condition: 'no configuration is stored',
    druid: 'returns an empty body',
    svc: 'returns the default configuration',
    reason: 'The response shows the configuration that is in effect.',
    explains: bothSucceed(
      ({ request, druid }) => request.endpoint.endsWith('/v1/worker') && druid.text === '',
    ),
  },
  {
    name: 'overlords as workers',
    endpoint: '`GET /druid/indexer/v1/workers`',
    condition: 'always',
    druid: 'lists only middle managers and indexers',
    svc: 'also lists overlords; their capacity is 0 if they do not run tasks',
    reason: 'Overlords in svc run tasks themselves, so that small clusters need no workers.',
    explains: bothSucceed(
      ({ request, druid, svc }) =>
        request.endpoint.endsWith('/v1/workers') &&
        druid.text === '[]' &&
        (svc.json as ShownWorker[]).every(({ worker }) => worker.capacity === 0),
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
    name: 'compaction status of a datasource without segments',
    endpoint:
      '`GET …/compaction/status`, `GET …/compaction/status/datasources`, and `GET …/compaction/progress`, for all datasources or for one',
    condition: 'a datasource has a compaction configuration, but no used segments',
    druid: 'omits the datasource; 404 if only this datasource is requested',
    svc: 'lists the datasource as `RUNNING`, with counts of 0',
    reason: 'The documented answer lists all datasources for which automatic compaction is enabled.',
    explains: (exchange) => {
      const { request, druid, svc } = exchange
      if (!/\/compaction\/(status(\/datasources(\/:dataSource)?)?|progress)$/.test(request.endpoint))
        return false
      if (svc.status !== 200) return false
      if (druid.status === 404) return isWithoutFigures(svc.json)
      const known = new Set(statusesOf(druid).map(({ dataSource }) => dataSource))
      const latestStatus = statusesOf(svc).filter(
        (status) => known.has(status.dataSource) || !isWithoutFigures(status),
      )
      return isSame({ ...exchange, svc: { ...svc, json: { latestStatus } } })
    },
  },
  {
    name: 'compaction status of one datasource as a list',
    endpoint: '`GET /druid/indexer/v1/compaction/status/datasources/{dataSource}`',
    condition: 'the datasource has a compaction status',
    druid: 'returns the status itself',
    svc: 'returns `{"latestStatus":[…]}`, a list with the status',
    reason: 'The documented answer is a list with zero or one entry.',
    explains: bothSucceed(
      (exchange) =>
        exchange.request.endpoint.endsWith('/compaction/status/datasources/:dataSource') &&
        isSame({
          ...exchange,
          druid: { ...exchange.druid, json: { latestStatus: [exchange.druid.json] } },
        }),
    ),
  },
  {
    name: 'compaction status without workers',
    endpoint: '`GET …/compaction/status…`, `GET …/compaction/progress`',
    condition: 'automatic compaction is enabled, and there are no workers',
    druid: 'counts the interval of a waiting task as skipped or compacted, sometimes twice',
    svc: 'counts this interval as awaiting compaction',
    reason: 'No worker could run the task, so svc submits none.',
    explains: bothSucceed(({ request, druid, svc }) => {
      if (request.endpoint.endsWith('/compaction/progress'))
        return remainingOf(druid) < remainingOf(svc) && remainingOf(druid) >= 0
      if (!/\/compaction\/status(\/datasources(\/:dataSource)?)?$/.test(request.endpoint)) return false
      const shown = new Map(statusesOf(druid).map((status) => [status.dataSource, status]))
      return statusesOf(svc).every((status) => {
        const other = shown.get(status.dataSource)
        return other === undefined ? isWithoutFigures(status) : countsNoMoreAsAwaiting(other, status)
      })
    }),
  },
  {
    name: 'segments that compaction leaves out',
    endpoint: '`GET …/compaction/status…`',
    condition:
      'a segment is neither a candidate nor skipped, for example because only a part of it is visible',
    druid: 'does not count the segment',
    svc: 'counts the segment as skipped',
    reason: 'The counts add up to the number of visible segments.',
    explains: bothSucceed(({ request, druid, svc, state }) => {
      if (!/\/compaction\/status(\/datasources(\/:dataSource)?)?$/.test(request.endpoint)) return false
      const shown = new Map(statusesOf(druid).map((status) => [status.dataSource, status]))
      return statusesOf(svc).every((status) => {
        const other = shown.get(status.dataSource)
        return (
          other !== undefined &&
          hasPartlyHidden(state, status.dataSource) &&
          segmentsIn(other) < segmentsIn(status) &&
          segmentsIn(other, ['AwaitingCompaction']) <= segmentsIn(status, ['AwaitingCompaction'])
        )
      })
    }),
  },
  {
    name: 'compaction tasks without workers',
    endpoint: '`GET /druid/indexer/v1/tasks`, and the lists of complete, running, pending, and waiting tasks',
    condition: 'automatic compaction is enabled, and there are no workers',
    druid: 'submits one task, which waits for a worker',
    svc: 'submits no task',
    reason: 'No worker could run the task.',
    explains: bothSucceed(
      (exchange) =>
        /\/v1\/(tasks|(complete|running|pending|waiting)Tasks)$/.test(exchange.request.endpoint) &&
        isSame({
          ...exchange,
          druid: {
            ...exchange.druid,
            json: (exchange.druid.json as ShownTask[]).filter(({ type }) => type !== 'compact'),
          },
        }),
    ),
  },
  {
    name: 'sums over no segments',
    endpoint: '`GET …/intervals/{interval}`',
    condition: 'no segment in the interval is served',
    druid: '`{}`',
    svc: '`{"size":0,"count":0}`',
    reason: 'The documented fields are always present.',
    explains: bothSucceed(
      ({ request, druid, svc }) =>
        request.endpoint.endsWith('/v1/intervals/:interval') &&
        druid.text === '{}' &&
        namesOf(svc).join() === 'size,count' &&
        isWithoutFigures(svc.json),
    ),
  },
  {
    name: 'segments of several servers',
    endpoint: '`GET …/intervals`, `GET …/intervals/{interval}`, `GET …/datasources?full`',
    condition: 'several servers have segments of the datasource',
    druid: 'shows only the segments of one of these servers',
    svc: 'shows the segments of all servers',
    reason: 'Otherwise, most of the data would be missing.',
    explains: bothSucceed(
      ({ request, druid, svc, state }) =>
        (/\/v1\/intervals(\/:interval)?$/.test(request.endpoint) ||
          (request.endpoint.endsWith('/v1/datasources') && request.path.includes('full'))) &&
        state.servers.length > 1 &&
        isPartOf(normalize(druid, request, state), normalize(svc, request, state)),
    ),
  },
  {
    name: 'rows of unused segments',
    endpoint: '`GET …/metadata/datasources/{dataSource}/unusedSegments`',
    condition: 'the datasource has unused segments',
    druid: '`numRows` is null unless segment schemas are stored centrally',
    svc: '`numRows` is the number of rows',
    reason: 'svc always knows the number.',
    explains: equalWithout({ numRows: undefined }, (endpoint) => endpoint.endsWith('/unusedSegments')),
  },
  {
    name: 'type and projections of a compaction configuration',
    endpoint: '`GET …/config/compaction…`, `GET …/compaction/config/datasources…`, and their histories',
    condition: 'the datasource has a compaction configuration',
    druid: 'adds `"type":"inline"` and `"projections":null`',
    svc: 'omits both fields, and accepts `"type":"inline"`',
    reason:
      '`inline` is the only type, svc has no projections, and neither field is part of the documented configuration.',
    explains: equalWithout({ type: 'inline', projections: null }, (endpoint) =>
      /compaction\/config|config\/compaction/.test(endpoint),
    ),
  },
  {
    name: 'datasources without used segments in lists',
    endpoint: '`GET …/loadstatus`, `GET …/metadata/datasources`',
    condition: 'all segments of a datasource have become unused',
    druid: 'lists the datasource until Druid restarts, for example with 0 or `"NaN"`',
    svc: 'omits the datasource',
    reason: 'These lists describe used segments. `"NaN"` is not a percentage.',
    explains: bothSucceed(
      (exchange) =>
        /v1\/(loadstatus|metadata\/datasources)$/.test(exchange.request.endpoint) &&
        isSame({
          ...exchange,
          druid: {
            ...exchange.druid,
            json: withoutEmpty(exchange.druid.json as object, exchange.svc.json as object),
          },
        }),
    ),
  },
  {
    name: 'load status where no replicas are required',
    endpoint: '`GET …/loadstatus`, `GET …/datasources/{dataSource}/loadstatus`',
    condition: 'rules require no replicas for some segments',
    druid: 'counts these segments as not loaded, except in `GET …/loadstatus?simple`',
    svc: 'counts only segments for which rules require replicas',
    reason: 'Otherwise, the load status would never reach 100.',
    explains: bothSucceed(
      ({ request, druid, svc }) =>
        /\/loadstatus$/.test(request.endpoint) &&
        // With both, `simple` applies.
        (request.path.includes('simple') || !request.path.includes('full')) &&
        numbersOf(druid).every(([name, value]) => {
          const own = new Map(numbersOf(svc)).get(name)
          // svc omits datasources without used segments.
          if (own === undefined) return Number.isNaN(Number(value)) || value === 0
          return request.path.includes('simple') ? own <= value : own >= value
        }),
    ),
  },
  {
    name: 'tiers without missing replicas in the load status',
    endpoint: '`GET …/loadstatus?full`, `GET …/datasources/{dataSource}/loadstatus?full`',
    condition: 'a load rule names no tier, or a tier with 0 replicas',
    druid: 'lists the tier, or `_default_tier`, with 0 missing replicas',
    svc: 'lists only tiers in which replicas are required or served',
    reason: 'Nothing can be missing in such a tier.',
    explains: bothSucceed(
      (exchange) =>
        /\/loadstatus$/.test(exchange.request.endpoint) &&
        exchange.request.path.includes('full') &&
        isSame({
          ...exchange,
          druid: { ...exchange.druid, json: withoutEmpty(exchange.druid.json, {}) },
          svc: { ...exchange.svc, json: withoutEmpty(exchange.svc.json, {}) },
        }),
    ),
  },
  {
    name: 'a datasource without used segments',
    endpoint:
      '`GET …/metadata/datasources/{dataSource}`, `GET …/metadata/datasources/{dataSource}/segments`, `GET …/datasources/{dataSource}/loadstatus`',
    condition: 'all segments of the datasource have become unused',
    druid: '200 with an empty list or a sentence until Druid restarts; then 404 or 204',
    svc: '404 or 204',
    reason: 'The answer does not depend on when a server was started.',
    explains: ({ request, druid, svc }) =>
      /\/datasources\/:dataSource(\/segments|\/loadstatus)?$/.test(request.endpoint) &&
      druid.status === 200 &&
      (svc.status === 404 || svc.status === 204) &&
      /^\[\]$|"segments":\[\]\}$|^No used segment/.test(druid.text),
  },
  {
    name: 'an unused segment of a datasource without used segments',
    endpoint: '`GET …/metadata/datasources/{dataSource}/segments/{segment}`',
    condition: '`includeUnused=true`, and all segments of the datasource are unused',
    druid: '404',
    svc: 'the segment',
    reason: 'It exists, and the request asks for unused segments, too.',
    explains: ({ request, druid, svc }) =>
      request.endpoint.endsWith('/metadata/datasources/:dataSource/segments/:segment') &&
      request.path.endsWith('?includeUnused=true') &&
      druid.status === 404 &&
      svc.status === 200,
  },
  {
    name: 'load status of a datasource without an interval',
    endpoint: '`GET …/datasources/{dataSource}/loadstatus`',
    condition:
      'no `interval` is given, and the datasource has segments that are older than two weeks or in the future',
    druid: 'covers only segments of the last two weeks',
    svc: 'covers all used segments',
    reason: 'Old data matters as much as new data; `interval` selects a part of the data.',
    explains: ({ request, druid, state }) =>
      request.endpoint.endsWith('/datasources/:dataSource/loadstatus') &&
      !request.path.includes('interval=') &&
      druid.status < 300 &&
      state.segments.some(({ payload }) => isOutsideLastWeeks(payload.interval)),
  },
  {
    name: 'load status of an interval without used segments',
    endpoint: '`GET …/datasources/{dataSource}/loadstatus`',
    condition: 'the datasource has no used segment in the interval',
    druid: 'returns a sentence instead of JSON',
    svc: 'returns 204 without a body',
    reason: 'Clients can parse every response that has a body.',
    explains: bothSucceed(
      ({ request, druid }) =>
        request.endpoint.endsWith('/datasources/:dataSource/loadstatus') &&
        /^"?No used segment/.test(druid.text),
    ),
  },
  {
    name: 'load status without forceMetadataRefresh',
    endpoint: '`GET …/datasources/{dataSource}/loadstatus`',
    condition: 'no `forceMetadataRefresh` is given',
    druid: '400',
    svc: 'returns the load status',
    reason: 'svc always reads the current metadata, so the parameter is not needed.',
    explains: ({ request, druid, svc }) =>
      request.endpoint.endsWith('/datasources/:dataSource/loadstatus') &&
      !request.path.includes('forceMetadataRefresh=') &&
      druid.status === 400 &&
      svc.status < 300,
  },
  {
    name: 'newest entries of a compaction history',
    endpoint:
      '`GET …/config/compaction/{dataSource}/history`, `GET …/compaction/config/datasources/{dataSource}/history`',
    condition: '`count` is given',
    druid:
      'reads the newest changes of all datasources, and shows each one whose configuration of this datasource differs from that of the next change',
    svc: 'shows the newest changes of the datasource',
    reason: 'In Druid, some entries have the time and author of another change, and others are missing.',
    explains: bothSucceed(
      ({ request }) => /compaction.*\/history$/.test(request.endpoint) && /[?&]count=/.test(request.path),
    ),
  },
  {
    name: 'number of entries of a history in an interval',
    endpoint: '`GET …/rules/history`, `GET …/rules/{dataSource}/history`, `GET …/config/history`',
    condition: '`count` and `interval` are given',
    druid: 'ignores `count`, and shows the oldest entry first',
    svc: 'shows at most `count` entries, the newest first, as without an interval',
    reason: 'A request for a few entries does not return thousands.',
    explains: bothSucceed((exchange) => {
      const { request, druid, svc } = exchange
      const { searchParams } = new URL(request.path, 'http://localhost')
      if (!/\/(rules|config).*\/history$/.test(request.endpoint) || !Array.isArray(druid.json)) return false
      if (!searchParams.has('count') || !searchParams.has('interval')) return false
      const newest = druid.json.toReversed().slice(0, Number(searchParams.get('count')))
      return isSame({ ...exchange, druid: { ...druid, json: newest }, svc })
    }),
  },
  {
    name: 'rule changes without an effect',
    endpoint: '`GET …/rules/history`, `GET …/rules/{dataSource}/history`',
    condition: 'rules were replaced by equal ones',
    druid: 'has no entry for this request',
    svc: 'has an entry for each request',
    reason: 'The history shows everyone who confirmed the rules.',
    explains: bothSucceed((exchange) => {
      const { request, svc } = exchange
      if (!/\/rules(\/:dataSource)?\/history$/.test(request.endpoint) || !Array.isArray(svc.json))
        return false
      const kept = withoutRepetitions(svc.json as readonly RulesChange[])
      const isShorter = kept.length < svc.json.length
      const shortened = { ...exchange, svc: { ...svc, json: kept } }
      return isShorter && (isSame(shortened) || addsOnlyFields(shortened))
    }),
  },
  {
    name: 'histories of rules with full',
    endpoint: '`GET …/rules/history?full`, `GET …/rules/{dataSource}/history?full`',
    condition: '`full` is given',
    druid: 'ignores the parameter',
    svc: 'adds two fields to each entry: `id`, which `./svc rules revert --to` accepts, and `replaced`, the rules before the change',
    reason: 'Without these fields, a change cannot be undone.',
    explains: (exchange) => /[?&]full/.test(exchange.request.path) && addsOnlyFields(exchange),
  },
  {
    name: 'overshadowed segments to mark as used',
    endpoint: '`POST …/segments/{segmentId}`',
    condition: 'the segment is overshadowed',
    druid: 'marks the segment as used until the coordinator marks it as unused again',
    svc: 'does not mark the segment',
    reason: 'As with `POST …/markUsed` in Druid, overshadowed segments stay unused.',
    separates: true,
    explains: bothSucceed(({ request, druid, svc, state: { segments } }) => {
      if (request.method !== 'POST' || !request.endpoint.endsWith('/segments/:segment')) return false
      const id = decodeURIComponent(request.path.slice(request.path.lastIndexOf('/') + 1))
      const marked = segments.find(({ payload }) => payload.identifier === id)?.payload
      return (
        marked !== undefined &&
        countOf(druid) > countOf(svc) &&
        segments.some(
          ({ payload: { dataSource, version, interval } }) =>
            dataSource === marked.dataSource &&
            version > marked.version &&
            overlaps(parseInterval(interval), parseInterval(marked.interval)),
        )
      )
    }),
  },
  {
    name: 'number of marked segments',
    endpoint:
      '`POST …/markUsed` and `POST …/markUnused` with segment IDs; `POST` and `DELETE …/segments/{segmentId}`',
    condition: 'some of the segments are already in the requested state',
    druid: 'counts all given segments',
    svc: 'counts only the segments that changed',
    reason:
      'The field is named `numChangedSegments`, and Druid counts only changed segments if they are selected by interval.',
    explains: bothSucceed(
      ({ request, druid, svc }) =>
        /\/mark(Used|Unused)$|\/segments\/:segment$/.test(request.endpoint) &&
        request.method !== 'GET' &&
        (request.json === undefined || JSON.stringify(request.json).includes('segmentIds')) &&
        countOf(druid) > countOf(svc),
    ),
  },
  {
    name: 'segments that overlap an interval to mark as unused',
    endpoint: '`POST …/markUnused`, by interval',
    condition: 'the interval overlaps a segment, but does not contain it',
    druid: 'does not count the segment, but marks it as unused',
    svc: 'marks only segments that the interval contains',
    reason: 'Data outside the interval stays available.',
    separates: true,
    explains: bothSucceed(({ request, state }) => {
      const { interval } = (request.json ?? {}) as { interval?: string | null }
      if (!request.endpoint.endsWith('/markUnused') || typeof interval !== 'string') return false
      return state.segments.some(({ payload }) =>
        overlapsInPart(parseInterval(interval), parseInterval(payload.interval)),
      )
    }),
  },
  {
    name: 'unknown segments to mark as used',
    endpoint: '`POST …/markUsed` with segment IDs',
    condition: 'some of the segments do not exist',
    druid: '400; marks none of the segments',
    svc: 'marks the segments that exist',
    reason: 'Kill tasks may erase some segments before the others are marked as used.',
    explains: ({ request, druid, svc, state }) => {
      if (!request.endpoint.endsWith('/markUsed') || druid.status !== 400 || svc.status !== 200) return false
      const stored = new Set(state.segments.map(({ payload }) => payload.identifier))
      const { segmentIds = [] } = (request.json ?? {}) as { segmentIds?: readonly string[] }
      return segmentIds.some((id) => !stored.has(id))
    },
  },
]

/** The path of the role of an administrator or of the internal user. */
const administrators = /\/roles\/(admin|druid_system|svc_system)(\/|$|\?)/

/** Removes permissions on users and roles from the roles of administrators in an answer. */
function withoutSecurity(json: unknown, isOfAdministrator: boolean): unknown {
  if (Array.isArray(json)) {
    return json
      .filter((item) => !(isOfAdministrator && isForSecurity(item)))
      .map((item) => withoutSecurity(item, isOfAdministrator))
  }
  if (typeof json !== 'object' || json === null) return json
  const { name } = json as { readonly name?: unknown }
  const isAdministrator = isOfAdministrator || name === 'admin' || name === 'svc_system'
  return Object.fromEntries(
    Object.entries(json).map(([field, value]) => [field, withoutSecurity(value, isAdministrator)]),
  )
}

function isForSecurity(permission: unknown): boolean {
  const { resourceAction, resource } = (permission ?? {}) as ShownPermission
  const { type, name } = resourceAction?.resource ?? resource ?? {}
  return type === 'CONFIG' && name === securityResource
}

/** The compaction statuses in an answer, which is a list or, for one datasource in Druid, the status itself. */
const statusesOf = ({ json }: Exchange['svc']): readonly CompactionStatus[] => {
  const { latestStatus, dataSource } = json as CompactionStatuses & CompactionStatus
  return latestStatus ?? (dataSource === undefined ? [] : [json as CompactionStatus])
}

const remainingOf = ({ json }: Exchange['svc']): number =>
  (json as { readonly remainingSegmentSize: number }).remainingSegmentSize

const compactionStates = ['AwaitingCompaction', 'Compacted', 'Skipped']

/** The number of segments in these states. */
const segmentsIn = (status: CompactionStatus, states: readonly string[] = compactionStates): number =>
  states.reduce((sum, state) => sum + Number(status[`segmentCount${state}`] ?? 0), 0)

/** Whether a newer version hides a part of a segment. */
const hasPartlyHidden = ({ segments }: State, dataSource: string): boolean =>
  segments.some(({ payload: hidden }) =>
    segments.some(
      ({ payload: newer }) =>
        hidden.dataSource === dataSource &&
        newer.dataSource === dataSource &&
        newer.version > hidden.version &&
        overlapsInPart(parseInterval(newer.interval), parseInterval(hidden.interval)),
    ),
  )

/** Whether the first status counts at least as many bytes and segments, but no more of them as awaiting compaction. */
const countsNoMoreAsAwaiting = (one: CompactionStatus, other: CompactionStatus): boolean =>
  ['bytes', 'segmentCount'].every((kind) => {
    const [inOne, inOther] = [one, other].map((status) =>
      ['AwaitingCompaction', 'Compacted', 'Skipped'].map((state) => Number(status[kind + state] ?? 0)),
    ) as [number[], number[]]
    const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0)
    return sum(inOne) >= sum(inOther) && inOne[0]! <= inOther[0]!
  })

/** Whether another value contains everything in this one: the names of objects, items of lists, and smaller numbers. */
function isPartOf(part: unknown, all: unknown): boolean {
  if (Array.isArray(part))
    return part.every((item) => (all as unknown[]).some((other) => isPartOf(item, other)))
  if (typeof part === 'number') return part <= (all as number)
  if (typeof part !== 'object' || part === null) return part === all
  const others = new Map(Object.entries(all ?? {}))
  return Object.entries(part).every(([name, value]) => others.has(name) && isPartOf(value, others.get(name)))
}

/** Whether all numbers in a value are 0. */
const isWithoutFigures = (value: unknown): boolean =>
  typeof value === 'object' && value !== null
    ? Object.values(value).every(isWithoutFigures)
    : typeof value !== 'number' || value === 0

/** The condition for requests that succeed with the same status in both systems. */
function bothSucceed(applies: Difference['explains']): Difference['explains'] {
  return (exchange) =>
    exchange.druid.status === exchange.svc.status && exchange.druid.status < 300 && applies(exchange)
}

/** The condition for answers that are equal without these fields; those with a value only if they have this value. */
function equalWithout(
  fields: Readonly<Record<string, unknown>>,
  concerns: (endpoint: string) => boolean,
): Difference['explains'] {
  const omit = (json: unknown): unknown =>
    JSON.parse(
      JSON.stringify(json ?? null, (key, inner: unknown) =>
        Object.hasOwn(fields, key) && (fields[key] === undefined || inner === fields[key])
          ? undefined
          : inner,
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

/** Returns an answer of Druid without the datasources that have no used segments and that svc does not list. */
function withoutEmpty(druid: unknown, svc: object): unknown {
  if (typeof druid !== 'object' || druid === null) return druid
  if (Array.isArray(druid)) {
    const names = new Set(svc as unknown[])
    return druid.filter((item) => (typeof item === 'string' ? names.has(item) : item.segments.length > 0))
  }
  const known = new Map(Object.entries(svc))
  return Object.fromEntries(
    Object.entries(druid).flatMap(([name, value]): [string, unknown][] => {
      const other: unknown = known.get(name)
      if (typeof value !== 'object')
        return other === undefined && (value === 'NaN' || value === 0) ? [] : [[name, value]]
      const kept = withoutEmpty(value, (other ?? {}) as object)
      return other === undefined && Object.keys(kept ?? {}).length === 0 ? [] : [[name, kept]]
    }),
  )
}

interface RulesChange {
  readonly key: string
  readonly payload: string
  readonly auditTime?: string
}

/** Returns the changes without those after which the rules were the same as before. */
function withoutRepetitions(changes: readonly RulesChange[]): readonly RulesChange[] {
  const last = new Map<string, string>()
  const oldestFirst = changes.toSorted((a, b) => ascending(a.auditTime ?? '', b.auditTime ?? ''))
  return oldestFirst.filter(({ key, payload }) => {
    const isRepeated = last.get(key) === payload
    last.set(key, payload)
    return !isRepeated
  })
}

/** Whether a history of rules in svc has only `id` and `replaced` in addition. */
const addsOnlyFields: Difference['explains'] = equalWithout(
  { id: undefined, replaced: undefined },
  (endpoint) => /\/rules(\/:dataSource)?\/history$/.test(endpoint),
)

/** Whether an interval overlaps another one without containing it. */
const overlapsInPart = (one: Interval, other: Interval): boolean =>
  overlaps(one, other) && !contains(one, other)

/** Whether an interval ends before the last two weeks, or starts after them. */
const isOutsideLastWeeks = (interval: string): boolean =>
  !overlaps(parseInterval(interval), { start: Date.now() - 14 * dayMs, end: Date.now() })

const numbersOf = ({ json }: Exchange['svc']): [name: string, value: number][] =>
  Object.entries((json ?? {}) as Record<string, number>)

const namesOf = ({ json }: Exchange['svc']): string[] => Object.keys(json ?? {})

function countOf({ json }: Exchange['svc']): number {
  const { numChangedSegments, segmentStateChanged } = json as {
    numChangedSegments?: number
    segmentStateChanged?: boolean
  }
  return numChangedSegments ?? Number(segmentStateChanged)
}
