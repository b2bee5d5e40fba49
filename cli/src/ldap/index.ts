/** A small LDAP directory in a process of its own, with sample users and groups: for tests and demonstrations. */
export { type EmbeddedDirectory, startDirectory } from './embedded-directory.ts'
export { directoryProperties, directoryServer, sampleDirectory } from './sample-directory.ts'
