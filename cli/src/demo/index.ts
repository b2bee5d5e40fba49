/** The demo: a temporary cluster with three tiers, real data, and rules that move it from tier to tier. */
export * from './run-demo.ts'
