/** Returns whether a text matches a pattern in which `*` matches any text and `?` one character. */
export function matchesWildcard(pattern: string, text: string): boolean {
  let at = 0
  let read = 0
  // Where to resume when the last star must match one more character.
  let star = -1
  let starRead = 0
  while (read < text.length) {
    if (pattern[at] === '*') {
      star = at++
      starRead = read
    } else if (at < pattern.length && (pattern[at] === '?' || pattern[at] === text[read])) {
      at++
      read++
    } else if (star >= 0) {
      at = star + 1
      read = ++starRead
    } else {
      return false
    }
  }
  while (pattern[at] === '*') at++
  return at === pattern.length
}
