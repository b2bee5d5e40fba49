/** Plans the loads, drops, and moves of one run from what rules require and servers hold. */
export * from './plan-clones.ts'
export * from './plan-moves.ts'
export * from './plan-placement.ts'
export * from './replica-change.ts'
export { draftOf, hasRoom, type LoadingServer } from './server-draft.ts'
export { placeholdersOf, type UnreportedServer } from './unreported-servers.ts'
