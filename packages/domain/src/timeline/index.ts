/** The timeline of a datasource: which segments are overshadowed, and which version is visible in which interval. */
export * from './separate-parts.ts'
export * from './timeline.ts'
