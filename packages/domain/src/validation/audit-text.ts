/** Max length of the author and the comment of a change, in characters. Servers cut longer ones. */
export const maxAuditTextLength = 1024
