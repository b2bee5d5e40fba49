// Maximum number of names to compare. A cluster has fewer tiers, and others get no suggestion.
const maxCompared = 200
// Short names such as t1 and t2 differ by a letter on purpose.
const minLength = 3

/** Returns the first known name that differs by one letter, two swapped letters, or case; undefined if none does. */
export function similarName(name: string, known: Iterable<string>): string | undefined {
  if (name.length < minLength) return undefined
  let compared = 0
  for (const one of known) {
    if (one !== name && differsByALetter(name, one)) return one
    compared += 1
    if (compared === maxCompared) return undefined
  }
  return undefined
}

function differsByALetter(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1) return false
  let at = 0
  while (at < a.length && a[at] === b[at]) at += 1
  const isSwapped = a[at] === b[at + 1] && a[at + 1] === b[at] && a.slice(at + 2) === b.slice(at + 2)
  return (
    isSwapped ||
    a.slice(at + 1) === b.slice(at + 1) ||
    a.slice(at) === b.slice(at + 1) ||
    a.slice(at + 1) === b.slice(at) ||
    a.toLowerCase() === b.toLowerCase()
  )
}
