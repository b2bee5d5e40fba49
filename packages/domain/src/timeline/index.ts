/** The timeline of one datasource: which segments are hidden by newer ones, and which pieces of time show which version. */
export * from './timeline.ts'
