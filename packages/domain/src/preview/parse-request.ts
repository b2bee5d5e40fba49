import { defaultRulesName, maxRules, parseRulesInSlices, type Rule, rulesSchema } from '../rules/index.ts'
import {
  addPeriod,
  formatInstant,
  formatInterval,
  type Interval,
  intervalSchema,
  lastTime,
  type Period,
  parseInstant,
  parseInterval,
  parsePeriod,
  periodSchema,
} from '../time/index.ts'
import {
  assertKnownFields,
  hasControlCharacter,
  isJsonObject,
  type JsonObject,
  orNull,
  readDatasourceName,
  readRulesName,
  refuse,
  refuseCount,
} from '../validation/index.ts'
import type { PreviewServer } from './cluster.ts'

/** A segment of a request, with defaults filled in. */
export interface GivenSegment {
  readonly dataSource: string
  readonly interval: Interval
  readonly version: string
  readonly partitionNum: number
  readonly partitions: number
  readonly sizeBytes: number
}

/** A request for a preview. */
export interface PreviewRequest {
  readonly now: number | undefined
  /** Rules by datasource, or one list for all datasources in the preview. */
  readonly rules: ReadonlyMap<string, readonly Rule[]> | readonly Rule[]
  readonly defaultRules: readonly Rule[] | undefined
  readonly segments: readonly GivenSegment[] | undefined
  readonly servers: readonly PreviewServer[] | undefined
  readonly horizon: Period | undefined
  /**
   * Also marks segments as used that drop rules marked as unused since a change, by its audit ID (0: since the first),
   * and that the rules keep.
   */
  readonly markUsedSince: number | undefined
}

/** Datasource of segments that do not specify one. */
export const previewDatasource = 'preview'

const maxSegments = 50_000
// Number of segments to read between two pauses.
const slice = 1000
const maxServers = 10_000
const maxTextLength = 255
const epochVersion = formatInstant(0)
const maxHorizon = parsePeriod('P10Y')

const requestFields = ['now', 'rules', 'defaultRules', 'segments', 'servers', 'horizon', 'markUsedSince']
const segmentFields = ['dataSource', 'interval', 'version', 'partitionNum', 'partitions', 'size']
// Fields that an answer adds to segments. They are ignored, so rows of an answer are valid segments.
const answeredFields = ['overshadowed', 'rule', 'action', 'loaded', 'brokers']
const serverFields = ['name', 'type', 'tier', 'maxSize']

const textSchema = { type: 'string', minLength: 1, maxLength: maxTextLength }
const countSchema = (max: number) => ({ type: 'integer', minimum: 0, maximum: max })
const objectSchema = (properties: JsonObject, required: readonly string[]) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})

const segmentSchema = () => {
  const partition = orNull(countSchema(2_147_483_647))
  const own = {
    dataSource: orNull(textSchema),
    interval: intervalSchema,
    version: orNull(textSchema),
    partitionNum: partition,
    partitions: partition,
    size: orNull(countSchema(Number.MAX_SAFE_INTEGER)),
  }
  return objectSchema({ ...own, ...Object.fromEntries(answeredFields.map((name) => [name, {}])) }, [
    'interval',
  ])
}
const serverSchema = () =>
  objectSchema(
    {
      name: textSchema,
      type: { type: 'string', enum: ['historical', 'broker'] },
      tier: textSchema,
      maxSize: orNull(countSchema(Number.MAX_SAFE_INTEGER)),
    },
    ['name', 'type', 'tier'],
  )

/** Returns the JSON schema of a preview request. */
export const previewRequestSchema = (): JsonObject => ({
  title: 'RulesPreviewRequest',
  ...objectSchema(
    {
      now: { type: ['string', 'null'], description: 'ISO 8601 date and time' },
      rules: {
        anyOf: [rulesSchema(), { type: 'object', additionalProperties: rulesSchema() }],
        description: 'One list for all datasources, or lists by datasource',
      },
      defaultRules: orNull(rulesSchema()),
      segments: orNull({ type: 'array', items: segmentSchema(), maxItems: maxSegments }),
      servers: orNull({ type: 'array', items: serverSchema(), maxItems: maxServers }),
      horizon: orNull(periodSchema),
      markUsedSince: orNull({
        ...countSchema(Number.MAX_SAFE_INTEGER),
        description:
          'Also mark segments of the cluster as used that drop rules marked as unused since this change, by its audit ID (0: since the first), and that the rules keep',
      }),
    },
    ['rules'],
  ),
})

const isGiven = (value: unknown): boolean => value !== undefined && value !== null

function readText(value: unknown, field: string): string {
  if (
    typeof value !== 'string' ||
    value.trim() === '' ||
    value.length > maxTextLength ||
    hasControlCharacter(value)
  )
    throw refuse(field, value, `a string of 1 to ${maxTextLength} characters without control characters`)
  return value
}

function readCount(value: unknown, field: string, max: number): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > max)
    throw refuse(field, value, `an integer from 0 to ${max}`)
  return value
}

function readList(value: unknown, field: string, max: number): readonly unknown[] {
  if (!Array.isArray(value)) throw refuse(field, value, 'a list')
  if (value.length > max) throw refuseCount(field, value.length, field, `at most ${max}`)
  return value
}

function readIntervalText(value: unknown, field: string): Interval {
  if (typeof value !== 'string')
    throw refuse(field, value, 'an ISO 8601 interval such as [2026-01-01/2026-02-01]')
  const interval = parseInterval(value, field)
  if (interval.start === interval.end) throw refuse(field, value, 'a non-empty interval')
  return interval
}

function readSegment(json: unknown, path: string): GivenSegment {
  if (!isJsonObject(json)) throw refuse(path, json, 'a segment (an object with an interval)')
  assertKnownFields(json, [...segmentFields, ...answeredFields], path)
  const { dataSource, interval, version, partitionNum, partitions, size } = json
  const maxPartitions = 2_147_483_647
  return {
    dataSource: isGiven(dataSource)
      ? readDatasourceName(dataSource, `${path}.dataSource`)
      : previewDatasource,
    interval: readIntervalText(interval, `${path}.interval`),
    version: isGiven(version) ? readText(version, `${path}.version`) : epochVersion,
    partitionNum: isGiven(partitionNum) ? readCount(partitionNum, `${path}.partitionNum`, maxPartitions) : 0,
    partitions: isGiven(partitions) ? readCount(partitions, `${path}.partitions`, maxPartitions) : 1,
    sizeBytes: isGiven(size) ? readCount(size, `${path}.size`, Number.MAX_SAFE_INTEGER) : 0,
  }
}

function* readSegments(json: unknown): Generator<undefined, GivenSegment[]> {
  const read: GivenSegment[] = []
  const places = new Map<string, string>()
  for (const [index, given] of readList(json, 'segments', maxSegments).entries()) {
    if (index % slice === 0) yield
    const path = `segments[${index}]`
    const segment = readSegment(given, path)
    const { dataSource, interval, version, partitionNum } = segment
    // Segment ids are ambiguous: version [v_1] and partition 1 of version [v] have the same id.
    const key = JSON.stringify([dataSource, formatInterval(interval), version, partitionNum])
    const place = places.get(key)
    if (place !== undefined)
      throw refuse(
        path,
        given,
        `a different dataSource, interval, version, or partitionNum than in [${place}]`,
      )
    places.set(key, path)
    read.push(segment)
  }
  return read
}

function readServers(json: unknown): PreviewServer[] {
  const names = new Set<string>()
  return readList(json, 'servers', maxServers).map((server, index) => {
    const path = `servers[${index}]`
    if (!isJsonObject(server)) throw refuse(path, server, 'a server (an object with name, type, and tier)')
    assertKnownFields(server, serverFields, path)
    const { type, maxSize } = server
    const name = readText(server.name, `${path}.name`)
    if (names.has(name)) throw refuse(`${path}.name`, name, 'a unique server name')
    names.add(name)
    if (type !== 'historical' && type !== 'broker')
      throw refuse(`${path}.type`, type, 'one of [historical, broker]')
    return {
      name,
      type,
      tier: readText(server.tier, `${path}.tier`),
      maxSizeBytes: isGiven(maxSize)
        ? readCount(maxSize, `${path}.maxSize`, Number.MAX_SAFE_INTEGER)
        : Infinity,
      decommissioning: false,
    }
  })
}

function* readRules(json: unknown): Generator<undefined, PreviewRequest['rules']> {
  if (Array.isArray(json)) return yield* parseRulesInSlices(json)
  if (!isJsonObject(json))
    throw refuse('rules', json, 'a list of rules, or an object that maps datasource names to lists of rules')
  const entries = Object.entries(json)
  if (entries.length > maxRules)
    throw refuseCount('rule lists', entries.length, 'rules', `at most ${maxRules}`)
  let count = 0
  const lists = new Map<string, readonly Rule[]>()
  for (const [name, list] of entries) {
    const dataSource = readRulesName(name, 'rules')
    const rules = yield* parseRulesInSlices(list, `rules.${dataSource}`)
    count += rules.length
    if (count > maxRules) throw refuseCount('rules', count, 'rules', `at most ${maxRules} across all lists`)
    lists.set(dataSource, rules)
  }
  return lists
}

function readHorizon(value: unknown, now: number): Period {
  const expected = 'an ISO 8601 period of at most ten years, such as [P90D]'
  if (typeof value !== 'string') throw refuse('horizon', value, expected)
  const period = parsePeriod(value, 'horizon')
  if (addPeriod(now, period) > addPeriod(now, maxHorizon)) throw refuse('horizon', value, expected)
  return period
}

/**
 * Parses a preview request. Throws invalidInput for the first invalid value; the message contains the field, the value,
 * and what is expected. `clusterNow` is the time to use if the request does not specify one. Yields regularly.
 */
export function* parsePreviewRequest(
  json: unknown,
  clusterNow: number,
): Generator<undefined, PreviewRequest> {
  if (!isJsonObject(json)) throw refuse('request', json, 'an object with rules')
  assertKnownFields(json, requestFields, '')
  const { now, rules, defaultRules, segments, servers, horizon, markUsedSince } = json
  if (isGiven(now) && typeof now !== 'string') throw refuse('now', now, 'an ISO 8601 date and time')
  const moment = isGiven(now) ? parseInstant(now as string, 'now') : undefined
  if (moment !== undefined && (moment === -Infinity || moment > lastTime))
    throw refuse('now', now, `a finite time up to [${formatInstant(lastTime)}]`)
  if (isGiven(markUsedSince) && isGiven(segments))
    throw refuse('markUsedSince', markUsedSince, 'no value if [segments] is given')
  const lists = yield* readRules(rules)
  const hasDefaults = !Array.isArray(lists) && (lists as ReadonlyMap<string, unknown>).has(defaultRulesName)
  if (hasDefaults && isGiven(defaultRules))
    throw refuse('defaultRules', defaultRules, `no value if [rules.${defaultRulesName}] is given`)
  const defaults = isGiven(defaultRules) ? yield* parseRulesInSlices(defaultRules, 'defaultRules') : undefined
  return {
    now: moment,
    rules: lists,
    defaultRules: hasDefaults
      ? (lists as ReadonlyMap<string, readonly Rule[]>).get(defaultRulesName)
      : defaults,
    segments: isGiven(segments) ? yield* readSegments(segments) : undefined,
    servers: isGiven(servers) ? readServers(servers) : undefined,
    horizon: isGiven(horizon) ? readHorizon(horizon, moment ?? clusterNow) : undefined,
    markUsedSince: isGiven(markUsedSince)
      ? readCount(markUsedSince, 'markUsedSince', Number.MAX_SAFE_INTEGER)
      : undefined,
  }
}
