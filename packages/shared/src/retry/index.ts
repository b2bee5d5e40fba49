/** Repeated attempts at work that fails while something is unavailable. */
export { type RetryOptions, retry } from './retry.ts'
