/** JSON and query texts as they come over the wire, checked and turned into what the domain speaks. */
export { intervalParameter, positiveCount, presence } from './query.ts'
export { zodFailure } from './zod-failure.ts'
