/** What tests of several rooms and services need: stores of their own, connections that can be cut, servers to call. */
export { type HttpAnswer, type HttpCall, httpRequest } from './http-request.ts'
export { type LogLine, type RecordingLogger, recordingLogger } from './recording-logger.ts'
export { createTestContext, type TestContext } from './service-context.ts'
export { testSettings } from './settings.ts'
export { createTestStores, type TestStores } from './stores.ts'
export { startTcpGate, type TcpGate } from './tcp-gate.ts'
export { freePort, type Scope, temporaryFolder } from './temporary.ts'
export { waitUntil } from './wait-until.ts'
