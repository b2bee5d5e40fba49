/** Publishing new files as segments: versions, partition numbers, and what they overshadow or replace. */
export * from './plan-publication.ts'
