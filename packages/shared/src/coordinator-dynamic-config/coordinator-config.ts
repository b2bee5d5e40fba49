import {
  checked,
  converted,
  described,
  fieldOf,
  hasControlCharacter,
  isJsonObject,
  type JsonObject,
  nullable,
  omittable,
  type Reader,
  readDatasourceName,
  readFields,
  readFlag,
  readInteger,
  readList,
  readNumber,
  readText,
  refuse,
  schemaOf,
  titled,
} from '@svc/domain/validation'

/** Name of the stored configuration and of its history. */
export const coordinatorConfigName = 'coordinator.config'

const count = readInteger(0, 2_147_483_647)
const name = checked(readText, (text) => !hasControlCharacter(text), 'a string without control characters')
const listOfStrings = { expected: 'a list of strings' }
const names = readList(name, listOfStrings)
const datasources = readList(readDatasourceName, listOfStrings)
const namesByName: Reader<Readonly<Record<string, string>>> = described(
  { type: 'object', additionalProperties: { type: 'string' } },
  (json, field) => {
    if (!isJsonObject(json)) throw refuse(field, json, 'an object')
    const texts = Object.fromEntries(
      Object.entries(json).map(([key, value]) => [key, readText(value, fieldOf(field, key))]),
    )
    if (Object.entries(texts).flat().some(hasControlCharacter))
      throw refuse(field, json, 'an object of strings without control characters')
    return texts
  },
)

const fields = {
  millisToWaitBeforeDeleting: readInteger(0, Number.MAX_SAFE_INTEGER),
  maxSegmentsToMove: count,
  replicantLifetime: count,
  replicationThrottleLimit: count,
  balancerComputeThreads: readInteger(1, 1000),
  killDataSourceWhitelist: datasources,
  killTaskSlotRatio: readNumber(0, 1),
  maxKillTaskSlots: count,
  killPendingSegmentsSkipList: datasources,
  maxSegmentsInNodeLoadingQueue: count,
  decommissioningNodes: names,
  pauseCoordination: readFlag,
  replicateAfterLoadTimeout: readFlag,
  useRoundRobinSegmentAssignment: readFlag,
  smartSegmentLoading: readFlag,
  debugDimensions: nullable(namesByName),
  turboLoadingNodes: names,
  cloneServers: checked(
    namesByName,
    (sources) => Object.entries(sources).every(([clone, source]) => clone !== source),
    'an object that maps each clone to a source server other than itself',
  ),
}

/** Reads the full configuration. */
const readConfig = titled('CoordinatorConfig', readFields(fields, { ignoresOthers: true }))

/** Returns the JSON schema of the full configuration. */
export const coordinatorConfigSchema = (): JsonObject => schemaOf(readConfig)

/** The coordinator dynamic configuration. */
export type CoordinatorConfig = ReturnType<typeof readConfig>
/** Some of its fields. */
export type CoordinatorConfigChange = Partial<CoordinatorConfig>

/** Druid's defaults, in Druid's order. */
const defaultCoordinatorConfig: CoordinatorConfig = {
  millisToWaitBeforeDeleting: 900_000,
  maxSegmentsToMove: 100,
  replicantLifetime: 15,
  replicationThrottleLimit: 500,
  balancerComputeThreads: 1,
  killDataSourceWhitelist: [],
  killTaskSlotRatio: 0.1,
  maxKillTaskSlots: 2_147_483_647,
  killPendingSegmentsSkipList: [],
  maxSegmentsInNodeLoadingQueue: 500,
  decommissioningNodes: [],
  pauseCoordination: false,
  replicateAfterLoadTimeout: false,
  useRoundRobinSegmentAssignment: true,
  smartSegmentLoading: true,
  debugDimensions: null,
  turboLoadingNodes: [],
  cloneServers: {},
}

/** Returns the stored configuration, with defaults for missing fields. */
export function readCoordinatorConfig(stored: { readonly value: string } | undefined): CoordinatorConfig {
  return {
    ...defaultCoordinatorConfig,
    ...(stored ? (JSON.parse(stored.value) as CoordinatorConfigChange) : {}),
  }
}

/** Reads the fields of a change. Fields that are missing are not in the result. */
export const readConfigChange: Reader<CoordinatorConfigChange> = titled(
  'CoordinatorConfigChange',
  converted(
    readFields(
      Object.fromEntries(Object.entries(fields).map(([field, read]) => [field, omittable<unknown>(read)])),
    ),
    (change) => Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined)),
  ),
)

/** Servers with a special role, by name. */
export interface ServerParts {
  /** Decommissioning servers. */
  readonly leaving: ReadonlySet<string>
  /** Clones and their source servers. */
  readonly clones: ReadonlyMap<string, string>
}

/** Returns the servers to which the configuration gives a special role. */
export function serverPartsOf(config: CoordinatorConfig): ServerParts {
  return {
    leaving: new Set(config.decommissioningNodes),
    clones: new Map(Object.entries(config.cloneServers)),
  }
}

/**
 * Returns how long a server must have been leader, in milliseconds, before it marks overshadowed segments as unused.
 * The svc leader knows all segments and servers before its first run, so it waits only if this differs from the
 * default, or if it `waitsByDefault` as Druid 37 does.
 */
export function overshadowedWaitMs(
  { millisToWaitBeforeDeleting }: CoordinatorConfig,
  waitsByDefault = false,
): number {
  return !waitsByDefault && millisToWaitBeforeDeleting === defaultCoordinatorConfig.millisToWaitBeforeDeleting
    ? 0
    : millisToWaitBeforeDeleting
}

const withoutEffect: Partial<Record<keyof CoordinatorConfig, string>> = {
  balancerComputeThreads: 'a single thread plans moves in a fraction of a second',
  killPendingSegmentsSkipList: 'there are no pending segments to delete',
  useRoundRobinSegmentAssignment:
    'in each tier, the server with the smallest percentage of its capacity in use gets the next segment',
  debugDimensions: 'the log and the metrics always show what each run did',
}

/** A warning about a field. */
export interface ConfigWarning {
  readonly type: 'fieldWithoutEffect'
  readonly field: string
  readonly message: string
}

/** Returns warnings about the fields of a change that are stored but have no effect. */
export function warningsOfChange(change: CoordinatorConfigChange): readonly ConfigWarning[] {
  return Object.entries(withoutEffect)
    .filter(([field]) => {
      const value = change[field as keyof CoordinatorConfig]
      return (
        value !== undefined &&
        JSON.stringify(value) !== JSON.stringify(defaultCoordinatorConfig[field as keyof CoordinatorConfig])
      )
    })
    .map(([field, reason]) => ({
      type: 'fieldWithoutEffect' as const,
      field,
      message: `Field [${field}] is stored but has no effect: ${reason}`,
    }))
}

/** Limits of a coordinator run. */
export interface LoadingLimits {
  readonly maxLoadsPerServer: number
  readonly replicationThrottleLimit: number
  readonly maxSegmentsToMove: number
}

/**
 * Returns the limits of a run with these numbers of used segments and servers. With smartSegmentLoading, they are
 * derived from these numbers as Druid's documentation describes, except for fields set to other values than their
 * defaults. A max of 0 loads in the queue of a server means no limit.
 */
export function loadingLimitsOf(config: CoordinatorConfig, segments: number, servers: number): LoadingLimits {
  const limit = (
    field: 'maxSegmentsInNodeLoadingQueue' | 'replicationThrottleLimit' | 'maxSegmentsToMove',
    smart: number,
  ): number =>
    config.smartSegmentLoading && config[field] === defaultCoordinatorConfig[field] ? smart : config[field]
  const inQueue = limit(
    'maxSegmentsInNodeLoadingQueue',
    // In total, the queues contain no more than Redis can easily handle and the servers can load within a few runs.
    clamp(Math.ceil(queuedAtOnce / Math.max(1, servers)), 100, 5000),
  )
  return {
    maxLoadsPerServer: inQueue === 0 ? Number.POSITIVE_INFINITY : inQueue,
    replicationThrottleLimit: limit('replicationThrottleLimit', Math.max(100, Math.ceil(segments * 0.05))),
    maxSegmentsToMove: limit('maxSegmentsToMove', clamp(Math.ceil(segments * 0.02), 100, 1000)),
  }
}

const queuedAtOnce = 100_000

const clamp = (value: number, min: number, max: number): number => Math.min(Math.max(value, min), max)
