import type { ServiceContext } from '../service/index.ts'
import {
  type Report,
  type ReportAnswer,
  reportPath,
  type ServerReport,
  type StandbyReportAnswer,
  standbyReportPath,
} from './report.ts'

// Short, so that when a leader hangs, its servers report to the next leader before that one decides without them.
const timeoutMs = 3000
// Full lists take longer to read.
const longTimeoutMs = 10_000

/** Reports to the coordinator leader. Throws a Failure if there is none, or if it does not respond in time. */
export async function sendReport(
  { client, stopping }: Pick<ServiceContext, 'client' | 'stopping'>,
  report: Pick<Report, 'servers'> & Partial<Report>,
): Promise<ReportAnswer> {
  return await client.callLeader<ReportAnswer>('coordinator', {
    method: 'POST',
    path: reportPath,
    body: report,
    timeoutMs: timeoutOf(report.servers),
    signal: stopping,
  })
}

/** Reports to a coordinator that is not the leader. Throws a Failure if it does not respond in time. */
export async function sendStandbyReport(
  { client, stopping }: Pick<ServiceContext, 'client' | 'stopping'>,
  baseUrl: string,
  servers: readonly ServerReport[],
): Promise<StandbyReportAnswer> {
  return await client.call<StandbyReportAnswer>(baseUrl, {
    method: 'POST',
    path: standbyReportPath,
    body: { servers },
    timeoutMs: timeoutOf(servers),
    signal: stopping,
  })
}

const timeoutOf = (servers: readonly ServerReport[]): number =>
  servers.some(({ segments }) => segments !== null) ? longTimeoutMs : timeoutMs
