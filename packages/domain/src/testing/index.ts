/** Simulated clusters that tests advance step by step. */

export { longRuleLists } from './long-rule-lists.ts'
export * from './simulated-servers.ts'
