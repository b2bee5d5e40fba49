/** Reads, shows, and explains the tiers, datasources, and segments of a cluster, and marks segments as used or unused. */
export * from './datasources.ts'
export * from './explanations.ts'
export * from './mark-segments.ts'
export * from './segments.ts'
export * from './tiers.ts'
