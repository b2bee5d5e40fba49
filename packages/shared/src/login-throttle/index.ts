/** Counting failed logins for the whole cluster; Redis is loaded with the first login that is verified. */
export { openLoginThrottle, type SharedThrottle } from './shared-throttle.ts'
