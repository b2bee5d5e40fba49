import type { ServiceContext } from '../service/index.ts'
import { type Report, type ReportAnswer, reportPath } from './report.ts'

// Short, so that when a leader hangs, its servers report to the next leader before that one decides without them.
const timeoutMs = 3000
// Full lists take longer to read.
const longTimeoutMs = 10_000

/** Reports to the coordinator leader. Throws a Failure if there is none, or if it does not respond in time. */
export async function sendReport(
  { client, stopping }: Pick<ServiceContext, 'client' | 'stopping'>,
  report: Pick<Report, 'servers'> & Partial<Report>,
): Promise<ReportAnswer> {
  const hasFullList = report.servers.some(({ segments }) => segments !== null)
  return await client.callLeader<ReportAnswer>('coordinator', {
    method: 'POST',
    path: reportPath,
    body: report,
    timeoutMs: hasFullList ? longTimeoutMs : timeoutMs,
    signal: stopping,
  })
}
