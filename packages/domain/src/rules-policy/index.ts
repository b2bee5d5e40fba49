/** Policies for retention rules: limits for what a change may lose. */
export * from './rules-policy.ts'
export * from './violations.ts'
