/** Retention rules: the ten types, how JSON becomes rules and back, and which rule a segment falls under. */
export * from './match.ts'
export * from './region.ts'
export * from './region-finder.ts'
export * from './rule.ts'
export * from './rule-boundaries.ts'
export type { RuleBounds } from './rule-list.ts'
export * from './rules-of-datasource.ts'
