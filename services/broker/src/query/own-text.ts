import type { QueryOrder } from '../query-processes/index.ts'

/** Returns the text of an internal query, which runs unchanged. */
export const ownText = (sql: string): Pick<QueryOrder, 'written' | 'text'> => ({
  written: sql,
  text: { sql, shifts: [], macros: [] },
})
