import { formatInstant } from '@svc/domain/time'
import { z } from 'zod'
import { loadCompactionHistory, type Queries } from '../postgres/index.ts'
import { intervalParameter, positiveCount } from '../wire/index.ts'

/** The query of the endpoints of histories. */
export const compactionHistoryQuery = z.object({
  interval: intervalParameter.optional(),
  count: positiveCount.optional(),
})

/** What held for the compaction of a datasource after each change, as the endpoints answer it. */
export async function compactionHistory(
  queries: Queries,
  dataSource: string,
  ofSupervisor: boolean,
  query: z.infer<typeof compactionHistoryQuery>,
) {
  const entries = await loadCompactionHistory(queries, { dataSource, ofSupervisor, ...query })
  return entries.map(({ globalConfig, compactionConfig, author, identity, comment, ip, createdAt }) => ({
    globalConfig,
    compactionConfig,
    auditInfo: { author, identity, comment, ip },
    auditTime: formatInstant(createdAt),
  }))
}
