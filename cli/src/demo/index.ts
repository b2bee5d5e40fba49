/** A guided tour: a cluster of three tiers of its own, real data, and rules that move it from tier to tier. */
export * from './run-demo.ts'
