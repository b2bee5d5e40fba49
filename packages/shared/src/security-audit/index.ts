/** The security audit: records logins, failed logins, and missing permissions in the metadata store. */
export { type SecurityAudit, startSecurityAudit } from './security-audit.ts'
