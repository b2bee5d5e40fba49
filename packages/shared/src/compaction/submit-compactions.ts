import { createHash } from 'node:crypto'
import {
  type CompactionCandidate,
  type CompactionConfig,
  compactTask,
  engineOf,
  formatCompactionConfig,
  type PastCompaction,
  scheduleCompactions,
} from '@svc/domain/compaction'
import { describeError } from '@svc/domain/failure'
import { formatInstant, formatInterval } from '@svc/domain/time'
import { newTaskId } from '../postgres/index.ts'
import type { ServiceContext } from '../service/index.ts'
import type { CompactionDriver, CompactionPlanner } from './planner.ts'

const fingerprint = (texts: Iterable<string>): string => {
  const hash = createHash('sha256')
  for (const text of texts) hash.update(text).update('\n')
  return hash.digest('hex').slice(0, 32)
}

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
  const { plan, configs, cluster, past } = await planner.plan(driver)
  const configTexts = new Map<string, string>()
  const fingerprintsOf = ({ dataSource, segments }: CompactionCandidate) => {
    const config = configs.get(dataSource) as CompactionConfig
    let text = configTexts.get(dataSource)
    if (text === undefined) {
      text = fingerprint([JSON.stringify(formatCompactionConfig(config))])
      configTexts.set(dataSource, text)
    }
    return { config: text, segments: fingerprint(segments.map(({ id }) => id).sort()) }
  }
  const { submissions, postponed } = scheduleCompactions({
    candidates: plan.candidates,
    slots: plan.slots,
    past: past as readonly PastCompaction[],
    fingerprintsOf,
    now: clock.now(),
  })
  let submitted = 0
  for (const { candidate, slots } of submissions) {
    if (!mayContinue()) break
    const config = configs.get(candidate.dataSource) as CompactionConfig
    const { config: configFingerprint, segments: segmentsFingerprint } = fingerprintsOf(candidate)
    const origin = { slots, configFingerprint, segmentsFingerprint, reason: candidate.reason }
    const id = newTaskId('auto_compact', candidate.dataSource)
    const body = compactTask(id, candidate, config, engineOf(cluster, config), origin)
    try {
      const call = { method: 'POST', path: '/svc/indexer/v1/task', body, signal: stopping } as const
      await client.callLeader('overlord', call)
      submitted += 1
    } catch (error) {
      logger.warn('Failed to submit compact task', {
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
