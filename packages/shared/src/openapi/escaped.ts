const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Returns the text escaped for HTML. */
export const escaped = (text: string): string =>
  text.replace(/[&<>"]/g, (character) => escapes[character] as string)
