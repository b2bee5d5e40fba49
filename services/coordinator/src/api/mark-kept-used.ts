import { keptByRules } from '@svc/domain/preview'
import { planMarkUsed } from '@svc/domain/retention'
import { defaultRulesName } from '@svc/domain/rules'
import { enclosingInterval, type Interval } from '@svc/domain/time'
import { type AuditInfo, datasource, jsonAnswer, type Route, route } from '@svc/shared/http'
import {
  type Database,
  loadDatasourceNames,
  loadDroppedSegments,
  loadOverlapping,
  loadRulesOf,
  lockDatasource,
  lockRules,
  markUsed,
  ParsedRules,
  type RuleChanges,
  type StoredSegment,
  saveAudit,
} from '@svc/shared/postgres'
import type { ServiceContext } from '@svc/shared/service'
import { segmentsMarkedShape } from '@svc/shared/shapes'
import { z } from 'zod'

// Segments per transaction, so that a transaction and its locks last less than a second.
const sliceSize = 2000

const query = z.object({
  since: z
    .string({ error: 'a single value' })
    .regex(/^\d{1,15}$/, { error: 'an audit ID, or 0 for all changes' })
    .transform(Number)
    .default(0),
})

/** Returns the endpoint that marks segments as used again that drop rules marked as unused and that the rules keep. */
export function markKeptUsedRoute({ database, clock }: Pick<ServiceContext, 'database' | 'clock'>): Route {
  return route({
    method: 'POST',
    path: '/svc/coordinator/v1/rules/:dataSource/markUsed',
    isForRules: true,
    access: datasource('WRITE'),
    summary:
      'Mark segments as used that drop rules marked as unused and that the rules keep now, unless they are overshadowed; since is the audit ID of the first change of rules whose drops are undone. Under _default: in all datasources that the caller may change',
    query,
    answers: [jsonAnswer(segmentsMarkedShape)],
    handle: async ({ params, query: { since }, caller, audit }) => {
      const name = params.dataSource as string
      const isForAll = name === defaultRulesName
      const changes: RuleChanges = { of: isForAll ? 'defaultRules' : 'rules', since }
      const dataSources = isForAll
        ? (await loadDatasourceNames(database, true)).filter((one) => caller.can('WRITE', 'DATASOURCE', one))
        : [name]
      let changed = 0
      for (const dataSource of dataSources)
        changed += await markKeptUsed(database, dataSource, changes, audit, () => clock.now())
      return { numChangedSegments: changed, segmentStateChanged: changed > 0 }
    },
  })
}

/** Marks segments of a datasource as used, slice by slice, each with its audit entry. Returns how many. */
async function markKeptUsed(
  database: Database,
  dataSource: string,
  changes: RuleChanges,
  audit: AuditInfo,
  nowOf: () => number,
): Promise<number> {
  let changed = 0
  let after: StoredSegment | undefined
  const parsed = new ParsedRules()
  for (;;) {
    const now = nowOf()
    const slice = await database.transaction(async (transaction) => {
      await lockDatasource(transaction, dataSource)
      // The rules must not change before the segments are marked.
      await lockRules(transaction, [dataSource, defaultRulesName])
      const rules = await loadRulesOf(transaction, dataSource, parsed)
      const keep = (segments: readonly StoredSegment[]) =>
        keptByRules(segments, {
          own: rules.get(dataSource) ?? [],
          defaults: rules.get(defaultRulesName) ?? [],
          now,
        })
      const dropped = await loadDroppedSegments(transaction, dataSource, changes, { after, limit: sliceSize })
      const kept = keep(dropped)
      const ids = new Set(kept.map(({ id }) => id))
      const enclosing = enclosingInterval(kept.map(({ interval }) => interval))
      if (enclosing === undefined) return { dropped, marked: 0 }
      const around = await usedOrKept(enclosing)
      const marked = await markUsed(
        transaction,
        planMarkUsed(
          kept,
          around.filter(({ id }) => !ids.has(id)),
        ),
        now,
      )
      if (marked > 0) {
        const payload = JSON.stringify({ markUsed: marked })
        await saveAudit(transaction, { ...audit, type: 'segments', key: dataSource, payload }, now)
      }
      return { dropped, marked }

      /** Segments that other slices mark can overshadow those of this one. */
      async function usedOrKept(overlapping: Interval): Promise<StoredSegment[]> {
        const present = await loadOverlapping(transaction, dataSource, overlapping)
        const others = await loadDroppedSegments(transaction, dataSource, changes, { overlapping })
        return [...present.filter(({ used }) => used), ...keep(others)]
      }
    })
    changed += slice.marked
    if (slice.dropped.length < sliceSize) return changed
    after = slice.dropped.at(-1)
  }
}
