import { unavailable } from '../failure/index.ts'
import { defaultRulesName, type Rule, type RulesByName } from '../rules/index.ts'
import { formatInstant } from '../time/index.ts'
import { type GivenDatasource, groupGivenSegments } from './given-segments.ts'
import { type PreviewRequest, previewDatasource } from './parse-request.ts'
import {
  decidePreview,
  formatSummary,
  type PreviewQuestion,
  type PreviewResult,
  pageOfRows,
  rowsInPlaces,
} from './preview.ts'
import { type PreviewedCluster, type PreviewedDatasource, withoutSegments } from './previewed-cluster.ts'
import {
  type DeletedGroup,
  keptByRules,
  Restorable,
  type UnusedGroup,
  visibleAmong,
  withRestored,
} from './restorable.ts'
import type { PreviewWarning } from './warnings.ts'

type Subject = PreviewQuestion['datasources'][number]

/** What the answer includes in addition: a page of the segments of the cluster, and bytes over time. */
export interface PreviewPage {
  /** Maximum number of buckets. */
  readonly buckets?: number | undefined
  readonly full: boolean
  readonly offset: number
  readonly limit: number
}

/** What a caller may read. */
export interface PreviewReader {
  canRead(dataSource: string): boolean
  /** Whether the caller may read the totals of the tiers of the cluster. */
  readonly canReadTiers: boolean
}

/** What drop rules and requests marked as unused, by datasource, and what kill tasks have deleted of it. */
interface UnusedByDatasource {
  readonly unused: ReadonlyMap<string, readonly UnusedGroup[]>
  readonly killed: ReadonlyMap<string, readonly DeletedGroup[]>
  readonly requested: ReadonlyMap<string, readonly UnusedGroup[]>
}

/** What else to decide. */
interface DecisionOptions {
  /** Maximum number of buckets that show bytes over time. */
  readonly buckets?: number | undefined
  /** Undefined if it is unknown, or if the request names its segments. */
  readonly unused?: UnusedByDatasource | undefined
  /** Whether to assume that all replicas fit where tiers may run out of space. */
  readonly assumesSpace?: boolean | undefined
}

/** A decided request. */
export interface DecidedRequest {
  readonly result: PreviewResult
  /** Unused segments that the rules keep; undefined if they are unknown. */
  readonly restorable: Restorable | undefined
  /** The segments in the request, by datasource; undefined if the request is about those of the cluster. */
  readonly given: readonly GivenDatasource[] | undefined
  readonly withTiers: boolean
  /** Whether it leaves out datasources with segments, because the caller may not read them. */
  readonly isPartial: boolean
}

const partialWarning: PreviewWarning = {
  type: 'incompletePreview',
  message: 'The preview leaves out datasources that this user may not read',
}

/**
 * Decides a request. The coordinator and the console both use this function, so they return the same previews.
 * Yields regularly.
 */
export function* decideRequest(
  request: PreviewRequest,
  cluster: PreviewedCluster,
  reader: PreviewReader,
  { buckets, unused, assumesSpace }: DecisionOptions = {},
): Generator<undefined, DecidedRequest> {
  const { rules, servers } = cluster
  const defaults = request.defaultRules ?? rules.get(defaultRulesName)
  if (defaults === undefined) throw unavailable('The default rules have not been stored yet')
  const given = request.segments && (yield* groupGivenSegments(request.segments))
  const live = given ? [] : cluster.datasources
  const subjects: Subject[] = (given ?? live).map((one) => ({
    segments: one.segments,
    columns: 'columns' in one ? one.columns : undefined,
    held: 'held' in one ? one.held : undefined,
    own: rulesAfter(request, rules, one.segments.dataSource),
    defaults,
  }))
  const named = namesIn(request)
  const present = new Set(subjects.map((subject) => subject.segments.dataSource))
  // Rules can be previewed before a datasource has data.
  const missing = named.filter((name) => !present.has(name))
  const isConcerned =
    given === undefined && isForAll(request)
      ? (name: string) => reader.canRead(name)
      : (name: string) => named.includes(name)
  if (request.markUsedSince !== undefined) {
    const stored = [unused?.unused, unused?.killed, unused?.requested]
    for (const name of new Set(stored.flatMap((groups) => [...(groups?.keys() ?? [])])))
      if (!present.has(name) && !named.includes(name) && isConcerned(name)) missing.push(name)
  }
  if (present.size === 0 && missing.length === 0) missing.push(previewDatasource)
  for (const name of missing) {
    const own = rulesAfter(request, rules, name)
    subjects.push({ segments: withoutSegments(name), columns: undefined, own, defaults })
  }
  const restorable = new Restorable(request.markUsedSince !== undefined)
  for (const [index, subject] of subjects.entries()) {
    if (!isConcerned(subject.segments.dataSource)) continue
    subjects[index] = yield* addRestorable(restorable, subject, request.now ?? cluster.now, unused)
  }
  const result = yield* decideAndKeep(live, {
    now: request.now ?? cluster.now,
    datasources: subjects,
    servers: request.servers ?? servers,
    serversBefore: given === undefined ? servers : [],
    concerned: new Set(
      given === undefined && isForAll(request)
        ? [...present, ...missing].filter((name) => reader.canRead(name))
        : [...named, ...missing],
    ),
    defaultsChange: request.defaultRules !== undefined,
    knownDatasources: [...present].filter((name) => reader.canRead(name)),
    horizon: request.horizon,
    buckets,
    assumesSpace,
  })
  // Anyone may see the totals of servers that the request names.
  const withTiers = reader.canReadTiers || (given !== undefined && request.servers !== undefined)
  const isPartial =
    isForAll(request) &&
    live.some(({ segments: { count, dataSource } }) => count > 0 && !reader.canRead(dataSource))
  return { result, given, withTiers, isPartial, restorable: unused && restorable }
}

/**
 * Adds the unused segments that the rules of a datasource keep. Returns the datasource with these segments if the
 * preview includes them.
 */
function* addRestorable(
  restorable: Restorable,
  subject: Subject,
  now: number,
  unused: UnusedByDatasource | undefined,
): Generator<undefined, Subject> {
  const { dataSource } = subject.segments
  const rules = { own: subject.own, defaults: subject.defaults, now }
  const kept = yield* visibleAmong(keptByRules(unused?.unused.get(dataSource) ?? [], rules), subject.segments)
  restorable.add(dataSource, kept, keptByRules(unused?.killed.get(dataSource) ?? [], rules))
  const segments = restorable.included ? withRestored(subject.segments, kept) : subject.segments
  const requested = keptByRules(unused?.requested.get(dataSource) ?? [], rules)
  restorable.addRequested(dataSource, yield* visibleAmong(requested, segments))
  if (!restorable.included || kept.length === 0) return subject
  return { ...subject, segments, columns: undefined, held: undefined }
}

/** Returns the answer to a decided request, with `more` in its summary. Yields regularly. */
export function* formatDecided(
  { result, given, withTiers, isPartial, restorable }: DecidedRequest,
  { full, offset, limit }: Omit<PreviewPage, 'buckets'>,
  more: object = {},
): Generator<undefined, Record<string, unknown>> {
  return {
    now: formatInstant(result.outcome.now),
    known: true,
    ...(given
      ? {
          segments: yield* rowsInPlaces(
            result,
            result.outcome.datasources.map((_, index) => given[index]?.places ?? []),
          ),
        }
      : full
        ? yield* pageOfSegments(result, offset, limit)
        : {}),
    summary: {
      ...formatSummary(result, withTiers),
      ...(restorable === undefined ? {} : { restorable: restorable.format() }),
      ...more,
    },
    warnings: [...(isPartial ? [partialWarning] : []), ...result.warnings, ...(restorable?.warnings ?? [])],
  }
}

/**
 * Returns warnings about the stored rules of a datasource, or about the cluster default rules and all datasources that the
 * caller may read. The cluster has only the datasources that they are about. Yields regularly.
 */
export function* warningsOfStored(
  dataSource: string,
  { now, datasources, servers, rules }: PreviewedCluster,
  canRead: PreviewReader['canRead'],
): Generator<undefined, readonly PreviewWarning[]> {
  const isDefault = dataSource === defaultRulesName
  const defaults = rules.get(defaultRulesName) ?? []
  const subjects = datasources.map(({ segments, columns }) => ({
    segments,
    columns,
    own: rules.get(segments.dataSource) ?? [],
    defaults,
  }))
  const concerned = subjects.map((subject) => subject.segments.dataSource).filter(canRead)
  if (concerned.length === 0) {
    const own = isDefault ? [] : (rules.get(dataSource) ?? [])
    const name = isDefault ? previewDatasource : dataSource
    subjects.push({ segments: withoutSegments(name), columns: undefined, own, defaults })
    concerned.push(name)
  }
  const result = yield* decideAndKeep(datasources, {
    now,
    datasources: subjects,
    servers,
    serversBefore: [],
    concerned: new Set(concerned),
    defaultsChange: isDefault,
    knownDatasources: [],
    horizon: undefined,
  })
  return result.warnings
}

/** Decides a preview, and keeps the columns of datasources for the next one. */
function* decideAndKeep(
  live: readonly PreviewedDatasource[],
  question: PreviewQuestion,
): Generator<undefined, PreviewResult> {
  const result = yield* decidePreview(question)
  for (const [index, one] of live.entries()) {
    const { segments, columns, held } = result.outcome.datasources[index]!
    // Segments that would be marked as used are only in this preview.
    if (segments !== one.segments) continue
    one.keep(columns, question.serversBefore.length === 0 ? undefined : held)
  }
  return result
}

/** Returns a page of the segments in the answer, and their total number. */
function* pageOfSegments(result: PreviewResult, offset: number, limit: number) {
  const { rows, total } = yield* pageOfRows(result, { offset, limit })
  return { segmentsTotal: total, segments: rows }
}

/** Whether a request changes the rules of all datasources. */
export const isForAll = ({ rules, defaultRules }: PreviewRequest): boolean =>
  isListForAll(rules) || defaultRules !== undefined

/** Returns the datasources that a request names. */
export function namesIn({ rules, segments }: PreviewRequest): string[] {
  const named = isListForAll(rules) ? [] : [...rules.keys()].filter((name) => name !== defaultRulesName)
  const given = (segments ?? []).map(({ dataSource }) => dataSource)
  return [...new Set([...named, ...given])]
}

const isListForAll = (rules: PreviewRequest['rules']): rules is readonly Rule[] => Array.isArray(rules)

function rulesAfter({ rules }: PreviewRequest, stored: RulesByName, dataSource: string): readonly Rule[] {
  if (isListForAll(rules)) return rules
  return rules.get(dataSource) ?? stored.get(dataSource) ?? []
}
