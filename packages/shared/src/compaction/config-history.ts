import { formatInstant } from '@svc/domain/time'
import { z } from 'zod'
import { loadCompactionHistory, type Queries } from '../postgres/index.ts'
import { intervalParameter, positiveCount } from '../wire/index.ts'

/** Query parameters of the history endpoints. */
export const compactionHistoryQuery = z.object({
  interval: intervalParameter.optional(),
  count: positiveCount.optional(),
})

/** Returns the compaction config of a datasource after each change, in the format of the endpoints. */
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
