/** Quotes a word for a POSIX shell. */
export const quotedWord = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** Returns a word for a POSIX shell, quoted only if it must be. */
export const shellWord = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : quotedWord(text))
