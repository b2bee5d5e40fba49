/** The timeline of one datasource: which segments are hidden by newer ones, and which pieces of time show which version. */
export * from './separate-parts.ts'
export * from './timeline.ts'
