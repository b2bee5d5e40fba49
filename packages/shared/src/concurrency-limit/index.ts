/** Limits how much work runs at the same time. */
export { type ConcurrencyLimit, createConcurrencyLimit } from './concurrency-limit.ts'
