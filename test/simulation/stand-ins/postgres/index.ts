/**
 * Stands in for the metadata store: the functions of `@svc/shared/postgres` that servers of a simulated cluster call, on tables
 * in memory. Each statement is a round trip to the simulated store. Any other function fails with the statement that it sends.
 */
import type * as real from '@svc/shared/postgres'
import { statement } from './database.ts'

export * from '@svc/shared/postgres'
export {
  changeClusterCompactionConfig,
  deleteCompactionConfig,
  loadClusterCompactionConfig,
  loadCompactionConfig,
  loadCompactionConfigs,
  loadCompactionStates,
  loadCompactionSupervisors,
  saveCompactionConfig,
  saveCompactionState,
} from './compaction.ts'
export { createDatabase } from './database.ts'
export {
  acquireLease,
  assertLeads,
  loadLeases,
  releaseLease,
  renewLease,
} from './leases.ts'
export {
  loadLoadRates,
  loadNodes,
  loadServerProblems,
  refreshMembers,
  removeNode,
  removeServerProblem,
  removeStaleLoadRates,
  removeStaleNodes,
  removeStaleProblems,
  saveHeartbeat,
  saveLoadRates,
  saveServerProblem,
} from './nodes.ts'
export {
  ensureDefaultRules,
  loadAuditInPages,
  loadAuditKeys,
  loadConfig,
  loadRules,
  loadRulesOf,
  loadRulesSnapshot,
  lockRules,
  saveAudit,
  saveConfig,
  saveRules,
} from './rules.ts'
export {
  copySegments,
  eraseUnused,
  followSegmentChanges,
  forgetOldRemovals,
  loadDatasourceNames,
  loadOverlapping,
  loadPartitionFloors,
  loadPayloads,
  loadPayloadTexts,
  loadSegmentChanges,
  loadSegmentRecords,
  loadSegmentSchemas,
  loadStoredSegments,
  loadUsedSegmentSizes,
  lockDatasource,
  markUnused,
  markUsed,
  saveSegmentSchemas,
} from './segments.ts'
export {
  cancelTask,
  claimTask,
  claimTaskWithNeeds,
  countRunningTasks,
  countUnfinishedTasks,
  finishAttempt,
  loadCompactTasks,
  loadTask,
  loadTaskLocks,
  loadTaskPayload,
  loadTasksShownAs,
  loadUnclaimedTasks,
  loadUnclaimedTasksAfter,
  releaseClaims,
  renewClaim,
  saveTask,
  takeInterval,
} from './tasks.ts'

export const isSchemaCurrent: typeof real.isSchemaCurrent = (queries) => statement(queries, () => true)
export const migrateSchema: typeof real.migrateSchema = (database) => statement(database, () => undefined)
