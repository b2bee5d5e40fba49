/** Limits failed logins, counted across the cluster. Loads Redis when the first login is verified. */
export { type LoginAttempt, type LoginThrottle, noThrottle } from './login-throttle.ts'
export { openLoginThrottle, type SharedThrottle } from './shared-throttle.ts'
