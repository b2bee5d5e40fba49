import { type RuleJson, rulesPathOf } from '@svc/domain/rules'
import { useQueryClient } from '@tanstack/react-query'
import { fetchRules } from '../cluster/index.ts'
import { inBytes, RequestFailure, send } from '../session/index.ts'
import { type ChangeNote, sameRules } from './rules-draft.ts'

/** A change to store. */
interface Change {
  /** The stored rules that it is based on. */
  readonly expected: readonly RuleJson[]
  readonly list: readonly RuleJson[]
  readonly note: ChangeNote
}

/**
 * Returns a function that stores a change, and returns the rules before and after it; undefined if another person has changed the
 * rules in the meantime.
 */
export function useStoreRules(dataSource: string) {
  const queries = useQueryClient()

  /** Fetches the stored rules, and shows them on the page. */
  async function refetch() {
    const current = await fetchRules(dataSource)
    queries.setQueryData(['rules', dataSource], current)
    return current
  }

  return async function store({ expected, list, note }: Change) {
    const before = await refetch()
    if (!sameRules(before.own, expected)) return undefined
    try {
      await send(rulesPathOf(dataSource), {
        method: 'POST',
        body: list,
        headers: {
          'X-Svc-Author': inBytes(note.author),
          'X-Svc-Comment': inBytes(note.comment),
          // The rules may change between the two requests.
          ...(before.version === undefined ? {} : { 'If-Match': before.version }),
        },
      })
    } catch (error) {
      const isConflict = error instanceof RequestFailure && error.status === 409
      // Otherwise, the policy of the cluster forbids the change.
      if (isConflict && (await refetch()).version !== before.version) return undefined
      throw error
    }
    return { before: before.own, after: (await refetch()).own }
  }
}
