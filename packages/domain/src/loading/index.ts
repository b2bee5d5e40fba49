/** Where copies of segments go: from what rules want and servers hold to the loads and drops of one run. */
export type { LoadingServer } from './copies.ts'
export * from './plan-replicas.ts'
export * from './planner.ts'
