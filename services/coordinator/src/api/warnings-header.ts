const maxBytes = 4096

/** Escapes non-ASCII characters as in JSON, because a header cannot carry them. */
const inAscii = (text: string): string =>
  text.replace(/[^\x20-\x7e]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Returns the value of the warnings header: JSON of at most 4 KiB with the number of warnings and the first of them. */
export function warningsHeader(
  warnings: readonly { readonly type: string; readonly message: string }[],
): string {
  const head = `{"count":${warnings.length},"warnings":[`
  const parts: string[] = []
  let length = head.length + 2
  for (const warning of warnings) {
    const text = inAscii(JSON.stringify(warning))
    if (length + text.length + 1 > maxBytes) break
    length += text.length + 1
    parts.push(text)
  }
  return `${head}${parts.join(',')}]}`
}
