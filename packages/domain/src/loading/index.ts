/** Plans the loads, drops, and moves of one run from what rules require and servers hold. */

export { placeholdersOf, type UnreportedServer } from './placeholder-servers.ts'
export * from './plan-clones.ts'
export * from './plan-moves.ts'
export * from './plan-placement.ts'
export * from './replica-change.ts'
export { areEqualServers, hasRoomFor, type LoadingServer } from './server-draft.ts'
