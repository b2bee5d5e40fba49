/** Users and roles at the coordinator: the first of them, and which servers decide by the latest. */
export { createDirectoryFollowers, type DirectoryFollowers } from './directory-followers.ts'
export { createFirstUsers } from './first-users.ts'
