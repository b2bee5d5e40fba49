/** What replicas cost per month: prices by tier, and the costs before and after a change. */
export * from './costs.ts'
export * from './prices.ts'
