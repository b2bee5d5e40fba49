/** How new files of rows become segments: versions, partition numbers, and what they hide or replace. */
export * from './plan-publication.ts'
