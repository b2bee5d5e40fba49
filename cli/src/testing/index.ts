/** A client for tests of commands. */
export { testClient } from './test-client.ts'
