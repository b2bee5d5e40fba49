/**
 * Returns a common spelling for names that a directory treats as equal: it ignores case and surrounding spaces. Only
 * for counting logins, never to identify a user.
 */
export const countedName = (name: string): string => name.normalize('NFKC').trim().toLowerCase()
