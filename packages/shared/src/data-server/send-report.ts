import type { ServiceContext } from '../service/index.ts'
import { type Report, type ReportAnswer, reportPath } from './report.ts'

// Where a leader hangs, its servers are to report to the next one before that decides without them.
const timeoutMs = 3000
// Whole lists take longer to read.
const longTimeoutMs = 10_000

/** Reports to the leading coordinator. Throws a Failure where there is none, or where it does not answer in time. */
export async function sendReport(
  { client, stopping }: Pick<ServiceContext, 'client' | 'stopping'>,
  report: Report,
): Promise<ReportAnswer> {
  const hasWholeList = report.servers.some(({ segments }) => segments !== null)
  return await client.callLeader<ReportAnswer>('coordinator', {
    method: 'POST',
    path: reportPath,
    body: report,
    timeoutMs: hasWholeList ? longTimeoutMs : timeoutMs,
    signal: stopping,
  })
}
