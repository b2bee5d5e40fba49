/** The author of everything that an import stores in the metadata store. */
export const importAuthor = 'svc import'
