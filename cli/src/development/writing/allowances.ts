import { invalidInput } from '@svc/domain/failure'

/** Number of phrases to replace, by file. */
export type Allowances = Readonly<Record<string, number>>

interface Excess {
  readonly file: string
  readonly count: number
  readonly allowed: number
}

/**
 * Returns the files that exceed their allowance. New files share the allowances of files that no longer exist, so that
 * files can be moved.
 */
export function overAllowance(counts: Allowances, allowances: Allowances): readonly Excess[] {
  let unused = 0
  for (const [file, allowed] of Object.entries(allowances)) if (!(file in counts)) unused += allowed
  return Object.entries(counts).flatMap(([file, count]) => {
    const allowed = allowances[file]
    if (allowed === undefined && count <= unused) {
      unused -= count
      return []
    }
    return count > (allowed ?? 0) ? [{ file, count, allowed: allowed ?? 0 }] : []
  })
}

/** Returns the current counts as the new allowances. Throws invalidInput if a file exceeds its allowance. */
export function lowerAllowances(counts: Allowances, allowances: Allowances): Allowances {
  const [excess] = overAllowance(counts, allowances)
  if (excess === undefined) return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))
  const { file, count, allowed } = excess
  throw invalidInput(`File [${file}] has [${count}] phrases to replace: expected at most [${allowed}]`)
}
