import { createHash } from 'node:crypto'
import {
  assumedCompactionRate,
  bytesToRead,
  type CompactionConfig,
  type CompactionForecast,
  type CompactionRate,
  type CompactionSchedule,
  engineOf,
  forecastCompaction,
  formatCompactionConfig,
  measuredCompactionRate,
  type ScheduleInput,
  scheduleCompactions,
  taskToSubmit,
} from '@svc/domain/compaction'
import { describeError } from '@svc/domain/failure'
import { formatInstant, formatInterval } from '@svc/domain/time'
import { newTaskId } from '../postgres/index.ts'
import type { ServiceContext } from '../service/index.ts'
import { finishInSlices } from '../slices/index.ts'
import type { CompactionDriver, CompactionPlanner, LivePlan } from './planner.ts'

const fingerprint = (texts: Iterable<string>): string => {
  const hash = createHash('sha256')
  for (const text of texts) hash.update(text).update('\n')
  return hash.digest('hex').slice(0, 32)
}

/** Returns a function that identifies the configuration and the segments of a candidate. */
function createFingerprints(configs: LivePlan['configs']): ScheduleInput['fingerprintsOf'] {
  const configTexts = new Map<string, string>()
  return ({ dataSource, segments }) => {
    const config = configs.get(dataSource) as CompactionConfig
    let text = configTexts.get(dataSource)
    if (text === undefined) {
      text = fingerprint([JSON.stringify(formatCompactionConfig(config))])
      configTexts.set(dataSource, text)
    }
    return { config: text, segments: fingerprint(segments.map(({ id }) => id).sort()) }
  }
}

/** Returns what a run would decide with a plan at `now` (epoch milliseconds). */
export const scheduleOf = (
  { plan, configs, past }: LivePlan,
  now: number,
  fingerprintsOf = createFingerprints(configs),
): CompactionSchedule =>
  scheduleCompactions({ candidates: plan.candidates, slots: plan.slots, past, fingerprintsOf, now })

/** When compaction runs, and how fast its tasks are. Times are epoch milliseconds. */
export interface ForecastTimes {
  readonly now: number
  readonly periodMs: number
  /** Half a period by default. */
  readonly untilNextRunMs?: number | undefined
  readonly rate: CompactionRate
}

/** Returns the measured speed of compaction, or the assumed one if no task was measured. */
export function compactionRateOf({ past }: Pick<LivePlan, 'past'>): {
  readonly rate: CompactionRate
  readonly isMeasured: boolean
} {
  const measured = measuredCompactionRate(past)
  return { rate: measured ?? assumedCompactionRate, isMeasured: measured !== undefined }
}

/** Returns what all future runs would decide with a plan. */
export const forecastOf = (
  { plan, configs, past }: LivePlan,
  { now, periodMs, untilNextRunMs = periodMs / 2, rate }: ForecastTimes,
): Promise<CompactionForecast> =>
  finishInSlices(
    forecastCompaction({
      plan,
      past,
      fingerprintsOf: createFingerprints(configs),
      now,
      rate,
      periodMs,
      untilNextRunMs,
    }),
  )

/**
 * Submits the compact tasks that are due through the overlord's API, if `driver` currently runs compaction. Returns a
 * summary for the log, or undefined if it did nothing. A task that cannot be submitted does not block the others.
 */
export async function submitCompactions(
  context: Pick<ServiceContext, 'client' | 'clock' | 'logger' | 'stopping'>,
  planner: CompactionPlanner,
  driver: CompactionDriver,
  mayContinue: () => boolean,
): Promise<object | undefined> {
  const { client, clock, logger, stopping } = context
  if ((await planner.driver()) !== driver) return undefined
  const live = await planner.plan(driver)
  const { configs, cluster } = live
  const fingerprintsOf = createFingerprints(configs)
  const { submissions, postponed } = scheduleOf(live, clock.now(), fingerprintsOf)
  let submitted = 0
  for (const { candidate, slots } of submissions) {
    if (!mayContinue()) break
    const config = configs.get(candidate.dataSource) as CompactionConfig
    const { config: configFingerprint, segments: segmentsFingerprint } = fingerprintsOf(candidate)
    const bytes = bytesToRead(candidate)
    const origin = { slots, bytes, configFingerprint, segmentsFingerprint, reason: candidate.reason }
    const id = newTaskId('auto_compact', candidate.dataSource)
    const body = taskToSubmit(id, candidate, config, engineOf(cluster, config), origin)
    try {
      const call = { method: 'POST', path: '/svc/indexer/v1/task', body, signal: stopping } as const
      await client.callLeader('overlord', call)
      submitted += 1
    } catch (error) {
      logger.warn('Failed to submit a compaction task', {
        dataSource: candidate.dataSource,
        interval: formatInterval(candidate.compactionInterval),
        error: describeError(error),
      })
    }
  }
  for (const { candidate, failures, until } of postponed) {
    logger.debug('Postponed compaction of an interval after failures', {
      dataSource: candidate.dataSource,
      interval: formatInterval(candidate.compactionInterval),
      failures,
      until: formatInstant(until),
    })
  }
  return submitted > 0 ? { submitted, postponed: postponed.length } : undefined
}
