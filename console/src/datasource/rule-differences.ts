/** How two lists of rules differ. */
export interface RuleDifferences<Rule> {
  readonly added: readonly Rule[]
  readonly removed: readonly Rule[]
  /** Whether rules that are in both lists are in another order. */
  readonly isReordered: boolean
}

/** Compares two lists of rules. A rule that is in a list twice counts twice. */
export function differencesOf<Rule extends object>(
  before: readonly Rule[],
  after: readonly Rule[],
): RuleDifferences<Rule> {
  const [added, kept] = without(after, before)
  const [removed, keptBefore] = without(before, after)
  return { added, removed, isReordered: JSON.stringify(kept) !== JSON.stringify(keptBefore) }
}

/** Returns the rules that are not in another list, and those that are. */
function without<Rule extends object>(list: readonly Rule[], other: readonly Rule[]): [Rule[], Rule[]] {
  const left = other.map((rule) => JSON.stringify(rule))
  const [own, shared]: [Rule[], Rule[]] = [[], []]
  for (const rule of list) {
    const at = left.indexOf(JSON.stringify(rule))
    if (at === -1) own.push(rule)
    else {
      left.splice(at, 1)
      shared.push(rule)
    }
  }
  return [own, shared]
}
