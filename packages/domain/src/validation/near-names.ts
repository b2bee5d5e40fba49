/** Returns up to `max` known names that are closest in spelling to an unknown name, closest first. */
export function nearNames(name: string, known: Iterable<string>, max = 3): string[] {
  return [...known]
    .map((one) => ({ one, distance: editDistance(name, one) }))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, max)
    .map(({ one }) => one)
}

/**
 * Like `nearNames`, but only names that were probably meant: they start with the given name, or differ by at most two
 * letters or a third of the letters.
 */
export function similarNames(name: string, known: Iterable<string>): string[] {
  const isSimilar = (one: string) =>
    editDistance(name, one) <= Math.max(2, Math.max(name.length, one.length) / 3) || one.startsWith(name)
  return nearNames(name, known).filter(isSimilar)
}

/** Returns a sentence with the similar names, without its period; empty if there are none. */
export function similarNamesText(name: string, known: Iterable<string>): string {
  const similar = similarNames(name, known)
  return similar.length === 0 ? '' : `Similar names: [${similar.join('], [')}]`
}

/** Levenshtein distance between two short strings. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const substitution = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(substitution, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    row = next
  }
  return row[b.length] as number
}
