import { planMarkUsed } from '@svc/domain/retention'
import { enclosingInterval, type Interval } from '@svc/domain/time'
import type { AuditInfo } from '../http/index.ts'
import {
  type Database,
  loadOverlapping,
  loadStoredSegments,
  lockDatasource,
  markUnused,
  markUsed,
  type SegmentQuery,
  saveAudit,
} from '../postgres/index.ts'

/** Which segments of a datasource to mark: all, those within an interval, or some by ID. */
export interface SegmentSelection {
  readonly within?: Interval | undefined
  readonly ids?: readonly string[] | undefined
  readonly versions?: readonly string[] | undefined
}

// The type of the audit entries.
const auditType = 'segments'

/** Marks the selected segments of a datasource as unused, with an audit entry. Returns how many changed. */
export async function markSelectedUnused(
  database: Database,
  dataSource: string,
  selection: SegmentSelection,
  audit: AuditInfo,
  now: number,
): Promise<number> {
  return await change(
    database,
    dataSource,
    { ...selection, dataSource, used: true },
    audit,
    now,
    'markUnused',
  )
}

/**
 * Marks the selected segments as used unless they are overshadowed, with an audit entry. Returns how many changed. As in Druid 37,
 * only segments of the selected versions can overshadow others if versions are selected; the coordinator marks segments that
 * other versions overshadow as unused again.
 */
export async function markSelectedUsed(
  database: Database,
  dataSource: string,
  selection: SegmentSelection,
  audit: AuditInfo,
  now: number,
): Promise<number> {
  return await change(database, dataSource, { ...selection, dataSource, used: false }, audit, now, 'markUsed')
}

async function change(
  database: Database,
  dataSource: string,
  query: SegmentQuery,
  audit: AuditInfo,
  now: number,
  kind: 'markUsed' | 'markUnused',
): Promise<number> {
  return await database.transaction(async (transaction) => {
    await lockDatasource(transaction, dataSource)
    const selected = await loadStoredSegments(transaction, query)
    const enclosing = enclosingInterval(selected.map(({ interval }) => interval))
    if (enclosing === undefined) return 0
    let changed: number
    if (kind === 'markUnused') {
      const ids = selected.map(({ id }) => id)
      changed = await markUnused(transaction, ids, { kind: 'request', identity: audit.identity }, now)
    } else {
      const { versions } = query
      const around = (await loadOverlapping(transaction, dataSource, enclosing)).filter(
        ({ used, version }) => used && (versions === undefined || versions.includes(version)),
      )
      changed = await markUsed(transaction, planMarkUsed(selected, around), now)
    }
    if (changed > 0) {
      const payload = JSON.stringify({ [kind]: changed })
      await saveAudit(transaction, { ...audit, type: auditType, key: dataSource, payload }, now)
    }
    return changed
  })
}
