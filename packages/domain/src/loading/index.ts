/** Where copies of segments go: from what rules want and servers hold to the loads and drops of one run. */
export * from './plan-clones.ts'
export * from './plan-copies.ts'
export * from './plan-moves.ts'
export * from './replica-change.ts'
export type { LoadingServer } from './server-draft.ts'
