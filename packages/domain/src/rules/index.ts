/** Retention rules: the ten types, conversion from and to JSON, and which rule applies to a segment. */
export * from './match.ts'
export { isInRegion, type RuleRegion } from './region.ts'
export * from './region-finder.ts'
export * from './rule.ts'
export * from './rule-boundaries.ts'
export type { RuleBounds } from './rule-list.ts'
export {
  appliesToEverything,
  describeWantedCopies,
  dropsInterval,
  loadedPeriodOf,
  type Rule,
  type RuleType,
  regionOf,
  regionTypeOf,
  ruleTypes,
  type WantedCopies,
} from './rule-types.ts'
export * from './rules-of-datasource.ts'
export * from './rules-path.ts'
