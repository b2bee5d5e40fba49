import {
  type AwaitedServer,
  type ReportAnswer,
  reportPeriodMs,
  type ServerReport,
  StandbyLog,
  type StandbyReports,
  sendReport,
} from '@svc/shared/segment-serving'
import type { ServiceContext } from '@svc/shared/service'
import type { VirtualCluster } from './virtual-cluster.ts'
import { isHidden, type VirtualServer } from './virtual-server.ts'

// Maximum number of changes per report. The leader processes a report without pausing: about 10 ms for this many changes.
const changesAtOnce = 10_000
const serversAtOnce = 5000

/** The part of a report about one server. */
interface Reported {
  readonly server: VirtualServer
  readonly report: ServerReport
}

/**
 * Returns a function that reports to the leader the servers whose reports are due. It returns whether the next report
 * should follow immediately.
 */
export function createVirtualReports(
  cluster: VirtualCluster,
  context: Pick<ServiceContext, 'client' | 'faults' | 'node' | 'stopping'>,
): () => Promise<boolean> {
  /** The fencing number of the leader that last accepted a report. */
  let term = 0

  return async () => {
    const process = context.node().name
    const nowMs = performance.now()
    const { reported, isFull } = dueReports(cluster, context.faults, process, nowMs)
    const gone = [...cluster.gone]
    if (reported.length === 0 && gone.length === 0) return false
    const answer = await sendReport(context, {
      servers: reported.map(({ report }) => report),
      awaited: otherAwaited(cluster, process, new Set(reported.map(({ server }) => server.name))),
      gone,
    })
    // A new leader does not know any of the lists.
    if (answer.term !== term) cluster.forgetKnown()
    term = answer.term
    noteAnswer(answer, reported, nowMs)
    for (const name of gone) if (!cluster.get(name)) cluster.gone.delete(name)
    // Send what did not fit in this report immediately.
    return isFull || !cluster.isAllKnown()
  }
}

/** Returns the reports that are due, up to the limits of one report, and whether the limit of changes was reached. */
function dueReports(
  cluster: VirtualCluster,
  faults: ServiceContext['faults'],
  process: string,
  nowMs: number,
): { readonly reported: readonly Reported[]; readonly isFull: boolean } {
  const reported: Reported[] = []
  let changes = 0
  for (const server of inTurn(cluster.servers())) {
    if (changes >= changesAtOnce || reported.length >= serversAtOnce) break
    if (server.livesAgainAtMs > 0) continue
    const isDue = nowMs - server.lastReportAtMs >= reportPeriodMs
    // A blocked report is lost like any other; the next one is sent when it is due.
    if (server.isCut ? !isDue : !isDue && server.isKnown && !server.log.hasNews()) continue
    cluster.setCut(server, faults.at(server.name).isCut())
    if (server.isCut) {
      server.lastReportAtMs = nowMs
      continue
    }
    const report = nextReport(server, process)
    changes += report.changes.length + (report.segments?.length ?? 0) + report.failures.length
    reported.push({ server, report })
  }
  return { reported, isFull: changes >= changesAtOnce }
}

function nextReport(server: VirtualServer, process: string, changes = server.log.next()): ServerReport {
  const { name, group, usedSizeBytes, leader } = server
  return {
    name,
    process,
    type: group.type,
    tier: group.tier,
    priority: group.priority,
    maxSizeBytes: group.maxSizeBytes,
    usedSizeBytes,
    term: leader.term,
    voidUntilMs: leader.confirmedVoidUntilMs(),
    ...changes,
  }
}

/**
 * Creates the reports of the servers to a coordinator that is not the leader, in the same sizes as those to the leader. A
 * server that restarted is a new object, with a new log.
 */
export function createStandbyReports(
  cluster: VirtualCluster,
  { node }: Pick<ServiceContext, 'node'>,
): StandbyReports {
  const logs = new WeakMap<VirtualServer, StandbyLog>()
  const logOf = (server: VirtualServer): StandbyLog => {
    const log = logs.get(server) ?? new StandbyLog(server.served)
    logs.set(server, log)
    return log
  }
  return {
    due: () => {
      const reports: ServerReport[] = []
      let changes = 0
      for (const server of cluster.servers()) {
        if (changes >= changesAtOnce || reports.length >= serversAtOnce) break
        const log = logOf(server)
        if (isHidden(server) || !log.isDue()) continue
        const report = nextReport(server, node().name, log.next())
        changes += report.changes.length + (report.segments?.length ?? 0)
        reports.push(report)
      }
      return reports
    },
    answered: (reports, resync) => {
      for (const report of reports) {
        const server = cluster.get(report.name)
        if (server?.served.session === report.session) logOf(server).answered(report, resync.has(report.name))
      }
    },
  }
}

/** Records which servers the leader knows now. */
function noteAnswer(answer: ReportAnswer, reported: readonly Reported[], nowMs: number): void {
  const resync = new Set(answer.resync)
  for (const { server, report } of reported) {
    const isNews = server.leader.noteLeader(answer.term, answer.voidUntilMs[server.name])
    // The leader is waiting for this confirmation, so report again immediately.
    server.lastReportAtMs = isNews ? 0 : nowMs
    server.isKnown = !resync.has(server.name)
    if (server.isKnown) {
      server.log.taken(report)
    } else {
      server.log.refused(answer.resyncFrom?.[server.name])
      server.lastReportAtMs = 0
    }
  }
}

/**
 * Returns the servers in the order in which they report. Servers that the leader knows must keep reporting while others
 * send their lists, but must not fill all reports.
 */
function inTurn(servers: readonly VirtualServer[]): readonly VirtualServer[] {
  const byLastReport = [...servers].sort((a, b) => a.lastReportAtMs - b.lastReportAtMs)
  const [known, unknown] = [true, false].map((isKnown) =>
    byLastReport.filter((server) => server.isKnown === isKnown),
  ) as [VirtualServer[], VirtualServer[]]
  return [...known.slice(0, serversAtOnce / 2), ...unknown, ...known.slice(serversAtOnce / 2)]
}

/** Returns the historicals whose lists the leader does not have yet and that are not in this report. */
const otherAwaited = (
  cluster: VirtualCluster,
  process: string,
  reported: ReadonlySet<string>,
): AwaitedServer[] =>
  cluster
    .servers()
    .filter(
      (server) =>
        server.group.type === 'historical' &&
        !server.isKnown &&
        !isHidden(server) &&
        !reported.has(server.name),
    )
    .map(({ name, group: { tier } }) => ({ name, process, tier }))
