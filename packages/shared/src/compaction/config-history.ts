import { jsonList, jsonObjectOfTexts } from '@svc/domain/json'
import { formatInstant } from '@svc/domain/time'
import type { ValuesOf } from '@svc/domain/validation'
import { type CompactionHistoryEntry, compactionHistoryPages, type Queries } from '../postgres/index.ts'
import type { historyParameters } from '../wire/index.ts'

/**
 * Generates the JSON list of the compaction configurations of a datasource after each change, in the format of the
 * endpoints. A long history is read and sent in pages, and configurations as they are stored, because parsing takes long.
 */
export function compactionHistory(
  queries: Queries,
  dataSource: string,
  ofSupervisor: boolean,
  query: ValuesOf<typeof historyParameters>,
): AsyncGenerator<string> {
  return jsonList(pages(compactionHistoryPages(queries, { dataSource, ofSupervisor, ...query })))
}

async function* pages(stored: AsyncIterable<readonly CompactionHistoryEntry[]>): AsyncGenerator<string[]> {
  for await (const entries of stored) {
    yield entries.map(({ globalConfig, compactionConfig, author, identity, comment, ip, createdAt }) => {
      const auditInfo = { author, identity, comment, ip }
      return jsonObjectOfTexts([
        ['globalConfig', globalConfig],
        ['compactionConfig', compactionConfig ?? 'null'],
        ['auditInfo', JSON.stringify(auditInfo)],
        ['auditTime', JSON.stringify(formatInstant(createdAt))],
      ])
    })
  }
}
