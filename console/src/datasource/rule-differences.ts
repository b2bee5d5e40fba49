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
  return { added, removed, isReordered: kept.some((text, index) => text !== keptBefore[index]) }
}

/** Returns the rules that are not in another list, and the texts of those that are. */
function without<Rule extends object>(list: readonly Rule[], other: readonly Rule[]): [Rule[], string[]] {
  const left = new Map<string, number>()
  for (const rule of other) {
    const text = JSON.stringify(rule)
    left.set(text, (left.get(text) ?? 0) + 1)
  }
  const own: Rule[] = []
  const shared: string[] = []
  for (const rule of list) {
    const text = JSON.stringify(rule)
    const count = left.get(text) ?? 0
    left.set(text, count - 1)
    if (count > 0) shared.push(text)
    else own.push(rule)
  }
  return [own, shared]
}
