import { assertLeads, type Database, eraseOldAudit } from '@svc/shared/postgres'
import type { ServiceContext } from '@svc/shared/service'
import type { Duty } from './duty-group.ts'

// So many entries in one transaction: others come to the store in between.
const batchSize = 1000

/** Erases entries of the histories that are older than what is to be retained. */
export function killAuditLog(
  { settings, clock, stopping }: ServiceContext,
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
