import type { Query } from '@tanstack/react-query'
import { refreshMs } from './refresh-ms.ts'

/** How often a visible page refetches what changes with time, such as ages. */
export const pollMs = 30_000

/** Refetches only after a failure, because events report all changes. */
export const retryMs = ({ state }: Pick<Query, 'state'>): number | false =>
  state.status === 'error' ? refreshMs : false
