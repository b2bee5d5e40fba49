/** Initial users of a new cluster, and tracking of which servers use the latest users and roles. */
export { createDirectoryFollowers, type DirectoryFollowers } from './directory-followers.ts'
export { createFirstUsers } from './first-users.ts'
