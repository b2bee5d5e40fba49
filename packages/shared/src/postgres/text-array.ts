const special = /["\\]/g

/**
 * Returns a list of texts as the text of a Postgres array, to be cast to `text[]`. The driver escapes each text on its
 * own, which takes a tenth of a second for the longest lists of a request.
 */
export function textArray(texts: readonly string[]): string {
  if (texts.length === 0) return '{}'
  const escaped =
    texts.join('').search(special) < 0 ? texts : texts.map((text) => text.replace(special, '\\$&'))
  return `{"${escaped.join('","')}"}`
}
