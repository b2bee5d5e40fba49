import type { Query } from '@tanstack/react-query'
import { refreshMs } from './refresh-ms.ts'

/** How often a visible page refetches what changes with time, such as ages. */
export const pollMs = 30_000

/**
 * Refetches only after a failure, because events report all changes. A request that lacked a permission is rarely repeated: each
 * refusal is a new entry in the audit log.
 */
export const retryMs = ({ state }: Pick<Query, 'state'>): number | false =>
  state.status === 'error' && (lacksPermission(state.error) ? pollMs : refreshMs)

/** Whether a request failed because of a missing permission. */
export const lacksPermission = (error: unknown): boolean =>
  error instanceof Error && 'status' in error && error.status === 403
