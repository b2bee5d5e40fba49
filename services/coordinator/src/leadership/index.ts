/** Routes requests to the leader, and provides the term (fencing token) of this server while it is the leader. */
export { createLeadership, type Leadership } from './leadership.ts'
export { atLeader } from './redirect-to-leader.ts'
