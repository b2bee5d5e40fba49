/** Waits until a cluster has reached a state, and shows its changes. */
export * from './conditions.ts'
export * from './wait-until.ts'
export * from './watch.ts'
