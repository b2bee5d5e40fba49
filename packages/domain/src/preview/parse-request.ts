import {
  assertNotEmptyDefaults,
  defaultRulesName,
  maxRules,
  parseRulesInSlices,
  type Rule,
  rulesSchema,
} from '../rules/index.ts'
import {
  addPeriod,
  formatInstant,
  formatInterval,
  formatPeriod,
  type Interval,
  lastTime,
  type Period,
  parsePeriod,
  readInstant,
  readNonEmptyInterval,
  readPeriod,
} from '../time/index.ts'
import {
  checked,
  converted,
  described,
  type JsonObject,
  optional,
  type Reader,
  readDatasourceName,
  readFields,
  readInteger,
  readLater,
  readList,
  readName,
  readOneOf,
  readRulesName,
  refuse,
  refuseCount,
  schemaOf,
  titled,
} from '../validation/index.ts'
import type { PreviewServer } from './servers-by-tier.ts'

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
const epochVersion = formatInstant(0)
const maxHorizon = parsePeriod('P10Y')

const maxPartitions = 2_147_483_647

const readBytes = readInteger(0, Number.MAX_SAFE_INTEGER)
const readPartition = readInteger(0, maxPartitions)
const ignored: Reader<undefined> = described({}, () => undefined)

const readSegment: Reader<GivenSegment> = converted(
  readFields(
    {
      dataSource: optional(readDatasourceName, previewDatasource),
      interval: readNonEmptyInterval,
      version: optional(readName(), epochVersion),
      partitionNum: optional(readPartition, 0),
      partitions: optional(readPartition, 1),
      size: optional(readBytes, 0),
      // An answer adds these fields to segments. They are ignored, so rows of an answer are valid segments.
      overshadowed: ignored,
      rule: ignored,
      action: ignored,
      loaded: ignored,
      brokers: ignored,
    },
    { expected: 'a segment (an object with an interval)' },
  ),
  ({ dataSource, interval, version, partitionNum, partitions, size: sizeBytes }) => ({
    dataSource,
    interval,
    version,
    partitionNum,
    partitions,
    sizeBytes,
  }),
)

const readServer: Reader<PreviewServer> = converted(
  readFields(
    {
      name: readName(),
      type: readOneOf(['historical', 'broker']),
      tier: readName(),
      maxSize: optional(readBytes, Infinity),
    },
    { expected: 'a server (an object with name, type, and tier)' },
  ),
  ({ maxSize: maxSizeBytes, ...server }) => ({ ...server, maxSizeBytes, decommissioning: false }),
)

const readServers: Reader<readonly PreviewServer[]> = converted(
  limitedList('servers', readServer, maxServers),
  (servers, field) => {
    const names = new Set<string>()
    for (const [index, { name }] of servers.entries()) {
      if (names.has(name)) throw refuse(`${field}[${index}].name`, name, 'a unique server name')
      names.add(name)
    }
    return servers
  },
)

/** Reads a list of at most `max` items. The error for a longer list contains its length. */
function limitedList<Item>(things: string, read: Reader<Item>, max: number): Reader<readonly Item[]> {
  const readItems = readList(read, { max })
  return described(readItems, (json, field) => {
    if (Array.isArray(json) && json.length > max)
      throw refuseCount(things, json.length, field, `at most ${max}`)
    return readItems(json, field)
  })
}

/** A time that the simulated clock can have. */
const readNow = checked(
  readInstant,
  (moment) => moment !== -Infinity && moment <= lastTime,
  `a finite time up to [${formatInstant(lastTime)}]`,
)

const readAuditId = readInteger(0, Number.MAX_SAFE_INTEGER)
const readMarkUsedSince = described(
  {
    ...schemaOf(readAuditId),
    description:
      'Audit ID of a rule change (0 for the first). The preview treats segments as used if drop rules marked them as unused since this change and the previewed rules would keep them',
  },
  readAuditId,
)

const readGivenSegments = limitedList('segments', (json) => json, maxSegments)

/** Reads the fields of a request. Lists of rules and segments can be long, so they are read later, with pauses. */
const readRequest = titled(
  'RulesPreviewRequest',
  readFields(
    {
      now: optional(readNow),
      rules: described(
        readLater(() => ({
          anyOf: [rulesSchema(), { type: 'object', additionalProperties: rulesSchema() }],
          description: 'A list of rules for all datasources, or an object with a list for each datasource',
        })),
        (json, field) => {
          if (typeof json === 'object' && json !== null) return json
          throw refuse(
            field,
            json,
            'a list of rules, or an object that maps datasource names to lists of rules',
          )
        },
      ),
      defaultRules: optional(readLater(rulesSchema)),
      segments: optional(described(readList(readSegment, { max: maxSegments }), readGivenSegments)),
      servers: optional(readServers),
      horizon: optional(readPeriod),
      markUsedSince: optional(readMarkUsedSince),
    },
    { expected: 'an object with rules' },
  ),
)

/** Returns the JSON schema of a preview request. */
export const previewRequestSchema = (): JsonObject => schemaOf(readRequest)

function* readSegments(list: readonly unknown[]): Generator<undefined, GivenSegment[]> {
  const read: GivenSegment[] = []
  const places = new Map<string, string>()
  for (const [index, given] of list.entries()) {
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
        `a different [dataSource], [interval], [version], or [partitionNum] than in [${place}]`,
      )
    places.set(key, path)
    read.push(segment)
  }
  return read
}

function* readRules(json: object): Generator<undefined, PreviewRequest['rules']> {
  if (Array.isArray(json)) return yield* parseRulesInSlices(json)
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

function assertHorizon(horizon: Period, now: number): void {
  if (addPeriod(now, horizon) <= addPeriod(now, maxHorizon)) return
  throw refuse('horizon', formatPeriod(horizon), 'an ISO 8601 period of at most ten years, such as [P90D]')
}

/**
 * Parses a preview request. Throws invalidInput for the first invalid value; the message contains the field, the value,
 * and what is expected. `clusterNow` is the time to use if the request does not specify one. Yields regularly.
 */
export function* parsePreviewRequest(
  json: unknown,
  clusterNow: number,
): Generator<undefined, PreviewRequest> {
  const { now, rules, defaultRules, segments, servers, horizon, markUsedSince } = readRequest(json, '')
  if (markUsedSince !== null && segments !== null)
    throw refuse('markUsedSince', markUsedSince, 'no value if [segments] is given')
  const lists = yield* readRules(rules)
  const rulesOfDefault = Array.isArray(lists)
    ? undefined
    : (lists as ReadonlyMap<string, readonly Rule[]>).get(defaultRulesName)
  if (rulesOfDefault !== undefined && defaultRules !== null)
    throw refuse('defaultRules', defaultRules, `no value if [rules.${defaultRulesName}] is given`)
  if (horizon !== null) assertHorizon(horizon, now ?? clusterNow)
  const defaults =
    defaultRules === null ? rulesOfDefault : yield* parseRulesInSlices(defaultRules, 'defaultRules')
  if (defaults !== undefined)
    assertNotEmptyDefaults(defaults, defaultRules === null ? `rules.${defaultRulesName}` : 'defaultRules')
  return {
    now: now ?? undefined,
    rules: lists,
    defaultRules: defaults,
    segments: segments === null ? undefined : yield* readSegments(segments),
    servers: servers ?? undefined,
    horizon: horizon ?? undefined,
    markUsedSince: markUsedSince ?? undefined,
  }
}
