/** Initial users of a new cluster, and tracking of which servers use the latest users and roles. */
export { createFirstUsers } from './first-users.ts'
export { createUsersFollowers, type UsersFollowers } from './users-followers.ts'
