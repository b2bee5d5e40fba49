/** Counts failed logins across the cluster. Loads Redis when the first login is verified. */
export { openLoginThrottle, type SharedThrottle } from './shared-throttle.ts'
