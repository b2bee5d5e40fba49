/** Clusters that tests move on by hand. */

export { longRuleLists } from './long-rule-lists.ts'
export * from './simulated-servers.ts'
