import type { Query } from '@tanstack/react-query'

/** How often a page refetches what no event reports, such as leaders. */
export const pollMs = 30_000

/** Refetches after a failure. Otherwise, events report what changes. */
export const retryMs = ({ state }: Pick<Query, 'state'>): number | false =>
  state.status === 'error' ? 4000 : false
