import { datasourceNameRule, hasControlCharacter, isDatasourceName } from '@svc/domain/validation'
import { z } from 'zod'
import { listOf, type Parser, parserOf } from '../wire/index.ts'

/** Name of the stored configuration and of its history. */
export const coordinatorConfigName = 'coordinator.config'

const count = (max = 2_147_483_647) => {
  const error = `an integer from 0 to ${max}`
  return z.int({ error }).min(0, { error }).max(max, { error })
}
const flag = z.boolean({ error: 'true or false' })
const text = z.string({ error: 'a string' })
const name = text.refine((value) => !hasControlCharacter(value), {
  error: 'a string without control characters',
})
const names = listOf(name, { error: 'a list of strings' })
const datasources = listOf(text.refine(isDatasourceName, { error: datasourceNameRule }), {
  error: 'a list of strings',
})
const namesByName = z
  .record(z.string(), z.string())
  .refine((texts) => !Object.entries(texts).flat().some(hasControlCharacter), {
    error: 'an object of strings without control characters',
  })

const fields = {
  millisToWaitBeforeDeleting: count(Number.MAX_SAFE_INTEGER),
  maxSegmentsToMove: count(),
  replicantLifetime: count(),
  replicationThrottleLimit: count(),
  balancerComputeThreads: count(1000),
  killDataSourceWhitelist: datasources,
  killTaskSlotRatio: z.number({ error: 'a number from 0 to 1' }).min(0).max(1),
  maxKillTaskSlots: count(),
  killPendingSegmentsSkipList: datasources,
  maxSegmentsInNodeLoadingQueue: count(),
  decommissioningNodes: names,
  pauseCoordination: flag,
  replicateAfterLoadTimeout: flag,
  useRoundRobinSegmentAssignment: flag,
  smartSegmentLoading: flag,
  debugDimensions: namesByName.nullable(),
  turboLoadingNodes: names,
  cloneServers: namesByName,
}

const changeSchema = z
  .strictObject(fields)
  .partial()
  .refine(
    ({ cloneServers = {} }) => Object.entries(cloneServers).every(([clone, source]) => clone !== source),
    {
      path: ['cloneServers'],
      error: 'an object with the source server of each clone, where no server is its own clone',
    },
  )
const storedSchema = z.object(fields)

/** Schema of the full configuration. */
export const coordinatorConfigShape = storedSchema.meta({ title: 'CoordinatorConfig' })

/** The coordinator dynamic configuration. */
export type CoordinatorConfig = z.infer<typeof storedSchema>
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

/** Parses the fields of a change. Throws an invalidInput Failure that names the first invalid field. */
export const parseConfigChange: Parser<CoordinatorConfigChange> = parserOf(
  changeSchema.meta({ title: 'CoordinatorConfigChange' }),
  { subject: 'configuration' },
  (change) => change as CoordinatorConfigChange,
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
    'the emptiest server of a tier gets the next segment; equally empty servers take turns',
  debugDimensions: 'the log and the metrics show what each run did',
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
    // In total, the queues contain what Redis easily handles and the servers load within a few runs.
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
