import { isDeepStrictEqual } from 'node:util'
import { canonicalJson } from '@svc/domain/json'
import type { Answer } from '@svc/shared/testing'
import type { DifferentialRequest } from './requests.ts'
import type { State } from './state.ts'

/** A request and the answers of both systems. */
export interface Exchange {
  readonly request: DifferentialRequest
  readonly druid: Answer
  readonly svc: Answer
  readonly state: State
}

// The order of these lists means something; that of all others is arbitrary in Druid.
const orderedEndpoints = /\/rules(\/:dataSource)?$|\/history$|\/datasources\/:dataSource\/intervals$/

/**
 * Whether the order of the list means something. Druid sorts unused segments only on request, and details of intervals
 * contain lists of servers.
 */
const isOrdered = ({ endpoint, path }: DifferentialRequest): boolean =>
  (orderedEndpoints.test(endpoint) && !/\/intervals\?.*full/.test(path)) ||
  (endpoint.endsWith('unusedSegments') && path.includes('sortOrder='))

const time = '<time>'
const timeNames = new Set(['auditTime', 'createdTime', 'usedStatusLastUpdatedDate'])

/** Returns whether both answers mean the same. Texts of errors are svc's own, so only their status counts. */
export function isSame({ request, druid, svc, state }: Exchange): boolean {
  // Which server has a segment is random, and so is whether this one does.
  const isAboutOne = request.endpoint.endsWith('/servers/:server/segments/:segment')
  if (isAboutOne && isRandom(request, state)) return true
  if (druid.status !== svc.status) return false
  if (druid.status >= 400) return true
  // Druid confirms some changes, svc answers changes with an empty body.
  if (isConfirmation(druid) && svc.text === '') return true
  return isDeepStrictEqual(normalize(druid, request, state), normalize(svc, request, state))
}

const isConfirmation = ({ json }: Answer): boolean => isDeepStrictEqual(json, { success: true })

/** Returns the body without what must differ: times of changes, addresses, and arbitrary orders. */
export function normalize({ json, text }: Answer, request: DifferentialRequest, state: State): unknown {
  if (json === undefined) return text
  if (isArbitrarySelection(request) && Array.isArray(json)) return json.length
  return normalizeValue(json, isOrdered(request), isRandom(request, state))
}

/** Whether Druid returns any of the requested segments: as many as the limit, in no order. */
const isArbitrarySelection = ({ endpoint, path }: DifferentialRequest): boolean =>
  endpoint.endsWith('unusedSegments') && path.includes('limit=') && !path.includes('sortOrder=')

/** Whether Druid chooses at random what the answer contains. */
const isRandom = ({ endpoint }: DifferentialRequest, { isPlacementFixed }: State): boolean =>
  !isPlacementFixed &&
  /^GET .*v1\/(servers|datasources\/:dataSource\/(segments\/:segment$|intervals)|intervals\/:interval$)/.test(
    endpoint,
  )

function normalizeValue(value: unknown, keepsOrder: boolean, isRandomPlacement: boolean): unknown {
  if (typeof value === 'string') return value.replaceAll('druid_system', 'svc_system')
  if (Array.isArray(value)) {
    if (isRandomPlacement) return ['<placement>']
    const items = value.map((item) => normalizeValue(item, keepsOrder, isRandomPlacement))
    return keepsOrder
      ? items
      : items.sort((left, right) => (canonicalJson(left) < canonicalJson(right) ? -1 : 1))
  }
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]): [string, unknown][] => {
      if (timeNames.has(name)) return [[name, time]]
      if (name === 'ip' || name === 'identity') return []
      // The payload of an audit entry is JSON as text, in which Druid writes 0 as 0.0.
      if (name === 'payload' && typeof inner === 'string' && /^[[{]/.test(inner))
        return [[name, normalizeValue(JSON.parse(inner), true, isRandomPlacement)]]
      // Where and when Druid read the segments.
      if (name === 'properties' && isReadMark(inner)) return [[name, {}]]
      // Druid calculates it from another form of the state.
      if (name === 'indexingStateFingerprint') return []
      // Of a server, by ID.
      if (isRandomPlacement && (name === 'segments' || typeof inner === 'number'))
        return [[name, '<placement>']]
      return [[name, normalizeValue(inner, keepsOrder, isRandomPlacement)]]
    }),
  )
}

const isReadMark = (value: unknown): boolean =>
  isObject(value) && Object.keys(value).every((name) => name === 'created' || name === 'client')

/** Yields the path of each part that differs, with both values. */
export function* differingParts(left: unknown, right: unknown, path = ''): Generator<string> {
  if (isDeepStrictEqual(left, right)) return
  if (isObject(left) && isObject(right) && Array.isArray(left) === Array.isArray(right)) {
    for (const name of new Set([...Object.keys(left), ...Object.keys(right)]))
      yield* differingParts(left[name], right[name], `${path}/${name}`)
    return
  }
  const show = (value: unknown) => JSON.stringify(value)?.slice(0, 200) ?? 'nothing'
  yield `${path}: Druid ${show(left)}, svc ${show(right)}`
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null
