/** A small LDAP directory in its own process, with sample users and groups, for tests and demos. */
export { startDirectory } from './embedded-directory.ts'
export {
  directoryProperties,
  directoryServer,
  type SampleUser,
  sampleDirectory,
  sampleUsers,
} from './sample-directory.ts'
