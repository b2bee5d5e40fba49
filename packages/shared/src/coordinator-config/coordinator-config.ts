import { hasControlCharacter } from '@svc/domain/validation'
import { z } from 'zod'
import { listOf, type Parser, parserOf } from '../wire/index.ts'

/** The name under which the configuration and its history are kept. */
export const coordinatorConfigName = 'coordinator.config'

const count = (most = 2_147_483_647) =>
  z
    .int({ error: 'a whole number' })
    .min(0, { error: 'a whole number from 0' })
    .max(most, { error: `a whole number up to ${most}` })
const flag = z.boolean({ error: 'true or false' })
const name = z
  .string({ error: 'a list of texts' })
  .refine((text) => !hasControlCharacter(text), { error: 'a text without control characters' })
const names = listOf(name, { error: 'a list of texts' })
const datasources = listOf(
  name.refine((text) => !text.includes('/'), { error: 'the name of a datasource, without [/]' }),
  { error: 'a list of texts' },
)
const namesByName = z
  .record(z.string(), z.string())
  .refine((texts) => !Object.entries(texts).flat().some(hasControlCharacter), {
    error: 'an object of texts without control characters',
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
      error: 'servers by the names of their clones; no server is the clone of itself',
    },
  )
const storedSchema = z.object(fields)

/** The shape of the whole configuration. */
export const coordinatorConfigShape = storedSchema.meta({ title: 'CoordinatorConfig' })

/** The dynamic configuration of the coordinator. */
export type CoordinatorConfig = z.infer<typeof storedSchema>
/** Some of its fields. */
export type CoordinatorConfigChange = Partial<CoordinatorConfig>

/** The recorded system's defaults, in the order in which it shows them. */
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

/** What was stored, the defaults for what was not. */
export function readCoordinatorConfig(stored: { readonly value: string } | undefined): CoordinatorConfig {
  return {
    ...defaultCoordinatorConfig,
    ...(stored ? (JSON.parse(stored.value) as CoordinatorConfigChange) : {}),
  }
}

/** The fields of a change; the first that is wrong is an invalidInput failure that names it. */
export const parseConfigChange: Parser<CoordinatorConfigChange> = parserOf(
  changeSchema.meta({ title: 'CoordinatorConfigChange' }),
  { subject: 'The configuration' },
  (change) => change as CoordinatorConfigChange,
)

/** What servers are there for beside taking part in everything, by their names. */
export interface ServerParts {
  /** Those that are to be emptied. */
  readonly leaving: ReadonlySet<string>
  /** Those that hold what another one does, with that other one. */
  readonly clones: ReadonlyMap<string, string>
}

/** What the configuration makes of servers. */
export function serverPartsOf(config: CoordinatorConfig): ServerParts {
  return {
    leaving: new Set(config.decommissioningNodes),
    clones: new Map(Object.entries(config.cloneServers)),
  }
}

/**
 * How long a leader has led, in milliseconds, before it marks overshadowed segments unused. This one knows all segments
 * and servers before its first run, and waits only where somebody has set another time than the default.
 */
export function overshadowedWaitMs({ millisToWaitBeforeDeleting }: CoordinatorConfig): number {
  return millisToWaitBeforeDeleting === defaultCoordinatorConfig.millisToWaitBeforeDeleting
    ? 0
    : millisToWaitBeforeDeleting
}

const withoutEffect: Partial<Record<keyof CoordinatorConfig, string>> = {
  balancerComputeThreads: 'moves are planned in a fraction of a second by one thread',
  killPendingSegmentsSkipList: 'there are no pending segments that would be erased',
  useRoundRobinSegmentAssignment: 'the emptiest server of a tier gets the next segment, equal ones in turns',
  debugDimensions: 'what each run did is in the log and in the metrics',
}

/** Something to be said of a field. */
export interface ConfigWarning {
  readonly type: 'fieldWithoutEffect'
  readonly field: string
  readonly message: string
}

/** What is to be said of a change: which of its fields are kept and change nothing here. */
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
      message: `Field [${field}] is kept and has no effect: ${reason}`,
    }))
}

/** How much the runs of the coordinator may set going. */
export interface LoadingLimits {
  readonly maxLoadsPerServer: number
  readonly replicationThrottleLimit: number
  readonly maxSegmentsToMove: number
}

/**
 * The limits of a run over so many used segments and servers. With smartSegmentLoading they follow from these, as the
 * documentation of the recorded system describes; a field that somebody has set to another value than its default is
 * kept to all the same. A limit of 0 loads in the queue of a server stands for none.
 */
export function loadingLimitsOf(config: CoordinatorConfig, segments: number, servers: number): LoadingLimits {
  const limit = (
    field: 'maxSegmentsInNodeLoadingQueue' | 'replicationThrottleLimit' | 'maxSegmentsToMove',
    smart: number,
  ): number =>
    config.smartSegmentLoading && config[field] === defaultCoordinatorConfig[field] ? smart : config[field]
  const inQueue = limit(
    'maxSegmentsInNodeLoadingQueue',
    // All queues together hold what Redis takes easily and the servers load within some runs.
    clamp(Math.ceil(queuedAtOnce / Math.max(1, servers)), 100, 5000),
  )
  return {
    maxLoadsPerServer: inQueue === 0 ? Number.POSITIVE_INFINITY : inQueue,
    replicationThrottleLimit: limit('replicationThrottleLimit', Math.max(100, Math.ceil(segments * 0.05))),
    maxSegmentsToMove: limit('maxSegmentsToMove', clamp(Math.ceil(segments * 0.02), 100, 1000)),
  }
}

const queuedAtOnce = 100_000

const clamp = (value: number, least: number, most: number): number => Math.min(Math.max(value, least), most)
