import type { Duty } from '@svc/shared/duties'
import { assertLeads, type Database, eraseOldAudit } from '@svc/shared/postgres'
import type { ServiceContext } from '@svc/shared/service'

// Entries per transaction. Small transactions let other statements run in between.
const batchSize = 1000

/** Deletes audit entries that are older than the duration to retain. */
export function killAuditLog(
  { settings, clock, stopping }: Pick<ServiceContext, 'settings' | 'clock' | 'stopping'>,
  database: Database,
  isLeading: (term: number) => boolean,
): Duty {
  return {
    name: 'killAuditLog',
    run: async (term) => {
      const before = clock.now() - settings.get('svc.coordinator.kill.audit.durationToRetain')
      let erased = 0
      for (
        let batch = batchSize;
        batch >= batchSize && !stopping.aborted && isLeading(term);
        erased += batch
      ) {
        batch = await database.transaction(async (transaction) => {
          await assertLeads(transaction, 'coordinator', term)
          return await eraseOldAudit(transaction, before, batchSize)
        })
      }
      return erased > 0 ? { erasedAuditEntries: erased } : undefined
    },
  }
}
