/** Data servers (historicals, and brokers with a segment cache): load, serve, and drop segments on request, and report them. */
export { createDataServer, type DataServer } from './data-server.ts'
export { KnownLeader, type RequestStamp } from './known-leader.ts'
export { RecentChanges } from './recent-changes.ts'
export {
  type AwaitedServer,
  type Report,
  type ReportAnswer,
  type RequestFailure,
  readReport,
  reportLimitBytes,
  reportPath,
  type ServerReport,
  type StandbyReportAnswer,
  standbyReportPath,
} from './report.ts'
export { ReportLog } from './report-log.ts'
export {
  type FileTaker,
  segmentFilesPath,
  segmentFilesRoute,
  takeFiles,
} from './segment-files-route.ts'
export { type SegmentHolders, segmentHoldersPath } from './segment-holders-path.ts'
export { sendReport } from './send-report.ts'
export { type ChangesSince, type ServedList, ServedSegments } from './served-segments.ts'
export {
  type ServedSegmentsAnswer,
  servedSegmentsPath,
  servedSegmentsRoute,
} from './served-segments-route.ts'
export { StandbyLog, type StandbyReports, standbyKeptMs, startStandbyReports } from './standby-reports.ts'
export { reportPeriodMs, startReporter } from './start-reporter.ts'
