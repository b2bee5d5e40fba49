import { keepNewest } from '../runtime/index.ts'

// A group gets this many entries at once, and one more each second.
const maxGroupEntries = 60
const maxGroups = 10_000

/** Returns a function that takes an entry from the budget of a group, or returns false if the budget is spent. */
export function createEventBudgets(now: () => number): (group: string) => boolean {
  const budgets = new Map<string, { entries: number; refilledAt: number }>()
  return (group) => {
    const time = now()
    const budget = budgets.get(group) ?? { entries: maxGroupEntries, refilledAt: time }
    const seconds = Math.max(0, Math.floor((time - budget.refilledAt) / 1000))
    budget.entries = Math.min(maxGroupEntries, budget.entries + seconds)
    budget.refilledAt += seconds * 1000
    keepNewest(budgets, group, budget, maxGroups)
    if (budget.entries === 0) return false
    budget.entries -= 1
    return true
  }
}
