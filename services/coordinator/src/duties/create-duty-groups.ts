import type { CompactionPlanner } from '@svc/shared/compaction'
import { createDutyGroup, type Duty, type DutyGroup } from '@svc/shared/duties'
import type { ServiceContext } from '@svc/shared/service'
import type { Leadership } from '../leadership/index.ts'
import { cleanMetadata } from './clean-metadata.ts'
import { compactSegments } from './compact-segments.ts'
import { killAuditLog } from './kill-audit-log.ts'
import { killUnusedSegments } from './kill-unused-segments.ts'
import { type RunRulesInput, runRules } from './run-rules.ts'

const metadataPeriodMs = 600_000

/** The duty groups of a coordinator. */
export interface DutyGroups {
  readonly all: readonly DutyGroup[]
  readonly loading: DutyGroup
  readonly compaction: DutyGroup
}

/** Creates the duty groups. They run while this coordinator is the leader. */
export function createDutyGroups(
  context: Pick<
    ServiceContext,
    'settings' | 'logger' | 'clock' | 'database' | 'discovery' | 'client' | 'stopping'
  >,
  leadership: Leadership,
  planner: CompactionPlanner,
  loading: Pick<
    RunRulesInput,
    | 'redis'
    | 'sender'
    | 'segments'
    | 'servers'
    | 'rules'
    | 'leaderSinceMs'
    | 'reportedServers'
    | 'clusterState'
    | 'requestJournal'
  >,
): DutyGroups {
  const { settings, logger, clock, database } = context
  const isLeader = (term: number): boolean => leadership.term() === term
  const group = (name: string, periodMs: number, duty: Duty) =>
    createDutyGroup(name, periodMs, [duty], logger)
  const compaction = group(
    'CompactionDuties',
    settings.get('svc.compaction.period'),
    compactSegments(context, planner, leadership),
  )
  const historicals = group(
    'HistoricalManagementDuties',
    settings.get('svc.coordinator.period'),
    runRules({
      ...loading,
      database,
      clock,
      logger,
      queuePrefix: settings.get('svc.queue.prefix'),
      requestTimeoutMs: settings.get('svc.coordinator.load.timeout'),
      waitsByDefault: settings.get('svc.coordinator.waitBeforeMarkingOvershadowed'),
      isLeader,
    }),
  )
  const all = [
    historicals,
    group('MetadataManagementDuties', metadataPeriodMs, cleanMetadata(database)),
    compaction,
  ]
  if (settings.get('svc.coordinator.kill.on')) {
    const periodMs = settings.get('svc.coordinator.kill.period')
    all.push(group('KillDuties', periodMs, killUnusedSegments(context, database)))
  }
  if (settings.get('svc.coordinator.kill.audit.on')) {
    const periodMs = settings.get('svc.coordinator.kill.audit.period')
    all.push(group('KillAuditLogDuties', periodMs, killAuditLog(context, database, isLeader)))
  }
  return { all, loading: historicals, compaction }
}
