import type { QueryOrder } from '@svc/shared/query'

/** The text of a query of our own, which is run as it is. */
export const ownText = (sql: string): Pick<QueryOrder, 'written' | 'text'> => ({
  written: sql,
  text: { sql, shifts: [], macros: [] },
})
