/**
 * One spelling of all under which a directory takes a name for the same: in any case, with blanks around it. For counting
 * only: who somebody is, is never told by it.
 */
export const countedName = (name: string): string => name.normalize('NFKC').trim().toLowerCase()
