import type { RuleJson } from '@svc/domain/rules'

/** A line of a comparison: a rule in both lists, only in the old one, or only in the new one. */
export interface DiffLine {
  readonly kind: 'same' | 'removed' | 'added'
  readonly rule: RuleJson
}

// Longer lists are shown as completely removed and added.
const maxCompared = 2000

/** The differences between two lists of rules, rule by rule, in order. */
export function diffOfRules(before: readonly RuleJson[], after: readonly RuleJson[]): DiffLine[] {
  const [old, fresh] = [before.map(textOf), after.map(textOf)]
  let head = 0
  while (head < old.length && head < fresh.length && old[head] === fresh[head]) head += 1
  let tail = 0
  while (
    tail < old.length - head &&
    tail < fresh.length - head &&
    old[old.length - 1 - tail] === fresh[fresh.length - 1 - tail]
  )
    tail += 1
  const same = (rules: readonly RuleJson[]): DiffLine[] => rules.map((rule) => ({ kind: 'same', rule }))
  return [
    ...same(before.slice(0, head)),
    ...diffOfMiddle(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...same(before.slice(before.length - tail)),
  ]
}

const textOf = (rule: RuleJson): string => JSON.stringify(rule)

/** Based on the longest common subsequence. */
function diffOfMiddle(before: readonly RuleJson[], after: readonly RuleJson[]): DiffLine[] {
  const removed = before.map((rule): DiffLine => ({ kind: 'removed', rule }))
  const added = after.map((rule): DiffLine => ({ kind: 'added', rule }))
  if (before.length * after.length > maxCompared ** 2) return [...removed, ...added]
  const [old, fresh] = [before.map(textOf), after.map(textOf)]
  const width = after.length + 1
  const common = new Int32Array((before.length + 1) * width)
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      common[i * width + j] =
        old[i] === fresh[j]
          ? common[(i + 1) * width + j + 1]! + 1
          : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!)
    }
  }
  const lines: DiffLine[] = []
  let [i, j] = [0, 0]
  while (i < before.length && j < after.length) {
    if (old[i] === fresh[j]) {
      lines.push({ kind: 'same', rule: before[i]! })
      i += 1
      j += 1
    } else if (common[(i + 1) * width + j]! >= common[i * width + j + 1]!) {
      lines.push(removed[i]!)
      i += 1
    } else {
      lines.push(added[j]!)
      j += 1
    }
  }
  return [...lines, ...removed.slice(i), ...added.slice(j)]
}
