/** JSON and query texts as they come over the wire, checked and turned into what the domain speaks, and what goes back. */

export { historyEntry } from './audit-history.ts'
export { parseJson } from './parse-json.ts'
export { intervalParameter, positiveCount, presence } from './query.ts'
