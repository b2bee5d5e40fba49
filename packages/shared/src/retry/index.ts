/** Repeated attempts at work that fails while something is unavailable. */
export { retry } from './retry.ts'
