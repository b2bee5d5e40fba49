/** Shared test support: separate stores per test file, connections to cut, servers to call, and hostile inputs. */
export { default as fc } from 'fast-check'
export { describeFileStore } from './describe-file-store.ts'
export {
  catastrophicExpressions,
  injectedNames,
  namesOfAttack,
  separators,
  starts,
  strayTargets,
  ways,
} from './hostile-inputs.ts'
export {
  type Answer,
  basicAuthorization,
  createHttpClient,
  type HttpCall,
  type HttpClient,
  httpRequest,
  type SentRequest,
} from './http-client.ts'
export { indexTask, rowsOf, rowsText } from './index-task.ts'
export { loadAudit } from './load-audit.ts'
export { listenWithStores, openPorts, storesAuthority, withTls } from './open-ports.ts'
export { recordingLogger } from './recording-logger.ts'
export { startReportTaker } from './report-taker.ts'
export { type S3Fault, type S3Request, type S3StandIn, standInBucket, startS3StandIn } from './s3-stand-in.ts'
export { serverReport } from './server-report.ts'
export { createTestContext, type TestContext } from './service-context.ts'
export { testSettings } from './settings.ts'
export { canMountSmallDisk, doorOf, runOnSmallDisk } from './small-disk.ts'
export { storeSegments } from './store-segments.ts'
export { createTestStores, type TestStores } from './stores.ts'
export { startTcpGate } from './tcp-gate.ts'
export { filesIn, freePort, type Scope, setPath, temporaryFolder } from './temporary.ts'
export { testCaller } from './test-caller.ts'
export { type WaitOptions, waitUntil } from './wait-until.ts'
