/** Users and roles, followed by every server: in the metadata store on coordinators, and at the coordinator on other servers. */
export {
  type FollowedUsers,
  followCoordinatorUsers,
  followStoredUsers,
  knownVersionPath,
  noUsers,
  usersAndRolesPath,
  usersAndRolesWaitMs,
} from './follow-users.ts'
