import type { Mutation } from '../hooks.ts'

/** A change that breaks the product, and what it breaks. */
export interface KnownMutation extends Mutation {
  readonly what: string
}

const rules = 'services/coordinator/src/duties/run-rules.ts'
const decisions = 'services/coordinator/src/duties/apply-decisions.ts'
const queueing = 'services/coordinator/src/duties/queue-requests.ts'
const inventory = 'services/coordinator/src/inventory/server-inventory.ts'
const coordinator = 'services/coordinator/src/main.ts'
const placement = 'packages/domain/src/loading/plan-placement.ts'
const election = 'packages/shared/src/discovery/election.ts'

const ofLeaders: readonly KnownMutation[] = [
  {
    // An earlier defect: a coordinator that regained leadership sent the decisions of its earlier term.
    what: 'a run continues under a newer term of the same server',
    file: rules,
    find: 'const isLeader = () => input.isLeader(term)',
    replace: 'const isLeader = () => true',
  },
  {
    what: 'a new leader decides before servers have reported',
    file: rules,
    find: 'await input.reportedServers.reported()',
    replace: '',
  },
  {
    // An earlier defect: the last replica was dropped when a leader took over while reports were in flight.
    what: 'a tier whose servers have not reported counts as one without servers',
    file: rules,
    find: '...servers.unreportedServers(input.reportedServers.awaited())',
    replace: '',
  },
  {
    what: 'requests are not repeated after the queues were lost',
    file: rules,
    find: 'requests: servers.voidPending(),',
    replace: 'requests: 0,',
  },
  {
    what: 'requests that may not have arrived are never repeated',
    file: queueing,
    find: 'servers.voidPendingOf(name)',
    replace: '',
  },
  {
    what: 'requests are not recorded',
    file: queueing,
    find: 'servers.note(name, pendingRequests(batch, sentAtMs))',
    replace: '0',
  },
  {
    what: 'reports of servers that do not know the leader count',
    file: inventory,
    find: 'report.term === term && this.hasConfirmed(report)',
    replace: 'this.hasConfirmed(report)',
  },
  {
    // An earlier defect: a server that had been forgotten was asked again while it could still execute what it was asked before.
    what: 'requests to a forgotten server do not count once it returns',
    file: inventory,
    find: 'report.term === term && this.hasConfirmed(report) && this.takeOne(report, nowMs)',
    replace: 'report.term === term && this.takeOne(report, nowMs)',
  },
  {
    what: 'requests to an earlier lifetime of a server stay pending',
    file: inventory,
    find: 'if (known && !sameLife) this.table',
    replace: 'if (known && !sameLife && false) this.table',
  },
  {
    what: 'revoked requests are repeated before the server confirms',
    file: inventory,
    find: 'if (voidUntilMs === undefined || confirmedUntilMs < voidUntilMs) return',
    replace: 'if (voidUntilMs === undefined) return',
  },
  {
    what: 'reports with missing changes count',
    file: inventory,
    find: 'this.sequenceOf(report) !== report.from',
    replace: 'this.sequenceOf(report) === undefined',
  },
  {
    what: 'failed requests stay pending',
    file: inventory,
    find: 'for (const failure of failures) {',
    replace: 'for (const failure of failures.slice(0, 0)) {',
  },
  {
    what: 'a new leader trusts what it knew when it led before',
    file: coordinator,
    find: '  servers.reset()\n',
    replace: '',
  },
  {
    what: 'segments are marked because of rules that were replaced',
    file: decisions,
    find: "cause.kind !== 'dropRule' ||",
    replace: 'true ||',
  },
  {
    what: 'a former leader marks segments',
    file: decisions,
    find: "await assertLeads(transaction, 'coordinator', term)",
    replace: '',
  },
  {
    what: 'replicas are dropped before segments are marked as unused',
    file: decisions,
    find: 'done.markedUnused += await markAll(database, unused, term, clock)',
    replace: '',
  },
  {
    what: 'a replica that is being dropped counts',
    file: placement,
    find: '? (flags & copyFlag.dropping) === 0',
    replace: '? true',
  },
  {
    what: 'replicas on decommissioning servers are dropped before others are loaded',
    file: placement,
    find: 'if (tier.served.length >= required) {',
    replace: 'if (tier.served.length + tier.loading.length >= required) {',
  },
  {
    what: 'replicas on decommissioning servers are dropped at once',
    file: placement,
    find: 'this.drop(row, tier.leaving)',
    replace: 'this.drop(row, [...tier.leaving, ...tier.served])',
  },
  {
    what: 'a tier drops replicas before others have loaded enough',
    file: 'packages/domain/src/loading/replica-change.ts',
    find: 'Math.max(0, Math.min(served - required, surplusInCluster))',
    replace: 'Math.max(0, served - required)',
  },
  {
    what: 'a leader leads after its lease has expired',
    file: election,
    find: 'performance.now() < untilMs ? term : undefined',
    replace: 'term',
  },
  {
    what: 'a lease is measured from the response',
    file: election,
    find: 'leadership.begin(gained, requestedAt + leaseMs)',
    replace: 'leadership.begin(gained, performance.now() + leaseMs)',
  },
  {
    what: 'a renewal is measured from the response',
    file: election,
    find: 'leadership.extend(requestedAt + leaseMs)',
    replace: 'leadership.extend(performance.now() + leaseMs)',
  },
  {
    what: 'a server leads with a lease that has expired when it learns about it',
    file: election,
    find: 'if (gained === undefined || performance.now() >= requestedAt + leaseMs) return leaseMs / triesPerLease\n    leadership.begin(gained, requestedAt + leaseMs)',
    replace:
      'if (gained === undefined) return leaseMs / triesPerLease\n    leadership.begin(gained, performance.now() + leaseMs)',
  },
]

const execution = 'packages/shared/src/segment-serving/execute-requests.ts'
const knownLeader = 'packages/shared/src/segment-serving/known-leader.ts'
const cache = 'packages/shared/src/segment-cache/open-segment-cache.ts'
const entries = 'packages/shared/src/segment-cache/entry-folder.ts'
const receiving = 'packages/shared/src/deep-storage/receive-file.ts'
const dataServer = 'packages/shared/src/segment-serving/data-server.ts'

const ofDataServers: readonly KnownMutation[] = [
  {
    what: 'a server executes requests to an earlier lifetime',
    file: execution,
    find: 'session !== served.session || ',
    replace: '',
  },
  {
    what: 'a server executes requests of an earlier leader',
    file: knownLeader,
    find: 'return term < this.latestTerm || (',
    replace: 'return (',
  },
  {
    what: 'a server executes revoked requests',
    file: knownLeader,
    find: ' || (term === this.latestTerm && sentAtMs <= this.voidUntilMs)\n  }\n\n  /** Records that',
    replace: '\n  }\n\n  /** Records that',
  },
  {
    what: 'a server confirms a revocation while it executes a revoked request',
    file: knownLeader,
    find: '[...this.atWork].some((stamp) => this.isVoid(stamp)) ? 0 : this.voidUntilMs',
    replace: 'this.voidUntilMs',
  },
  {
    what: 'a server reports a segment before it has loaded it',
    file: execution,
    find: '      await cache.load(JSON.parse(request.payload) as SegmentPayload, stopping)\n      served.add(id)',
    replace:
      '      served.add(id)\n      await cache.load(JSON.parse(request.payload) as SegmentPayload, stopping)',
  },
  {
    what: 'a server does not report failures',
    file: execution,
    find: 'log.noteFailure({ id, action, message })',
    replace: '',
  },
  {
    what: 'a server serves a segment that it has dropped',
    file: execution,
    find: '    served.remove(id)\n    await cache.drop(id)\n    // A concurrent load of the same segment has ended by now, and may have added it again.\n    served.remove(id)',
    replace: '    await cache.drop(id)',
  },
  {
    what: 'a server forgets its segments at a restart',
    file: dataServer,
    find: 'for (const { identifier } of cache.list()) served.add(identifier)',
    replace: '',
  },
  {
    what: 'a server ignores that the leader needs its complete list',
    file: dataServer,
    find: 'if (answer.resync.includes(own.name)) {',
    replace: 'if (false) {',
  },
  {
    what: 'a server does not learn about revocations',
    file: dataServer,
    find: 'leader.noteLeader(answer.term, answer.voidUntilMs[own.name])',
    replace: 'leader.noteLeader(answer.term)',
  },
  {
    what: 'the checksum of a cached segment is not checked at a restart',
    file: entries,
    find: 'if (checksum !== payload.loadSpec.checksum) {',
    replace: 'if (false) {',
  },
  {
    what: 'the checksum of a fetched segment is not checked',
    file: receiving,
    find: 'if (found.checksum !== checksum) {',
    replace: 'if (false) {',
  },
  {
    what: 'a damaged folder in the cache is kept',
    file: cache,
    find: '    await removeFolder(location, folderName, logger)\n  }\n\n  for',
    replace: '  }\n\n  for',
  },
]

const publication = 'packages/shared/src/tasks/publish-index-task.ts'
const attempt = 'packages/shared/src/task-running/run-attempt.ts'
const files = 'packages/shared/src/task-running/attempt-files.ts'
const kill = 'packages/shared/src/tasks/kill-segments.ts'
const compaction = 'packages/shared/src/tasks/compaction-work.ts'
const marks = 'packages/shared/src/segment-marking/mark.ts'
const queueTasks = 'services/overlord/src/duties/queue-tasks.ts'

const ofTasks: readonly KnownMutation[] = [
  {
    what: 'a superseded attempt publishes',
    file: publication,
    find: 'if (!(await finishAttempt(transaction, taskId, attempt, end))) throw new NotTheAttempt()',
    replace: 'await finishAttempt(transaction, taskId, attempt, end)',
  },
  {
    what: 'a task ends before its segments are published',
    file: publication,
    find: 'finishAttempt(transaction, taskId, attempt, end)',
    replace: 'finishAttempt(database, taskId, attempt, end)',
  },
  {
    what: 'segments are published outside of the transaction',
    file: publication,
    find: 'if (rows.length > 0) await copySegments(transaction, rows, taskId, now)',
    replace:
      'for (const row of rows) await database.transaction((other) => copySegments(other, [row], taskId, now))',
  },
  {
    what: 'a task publishes an interval that another task has',
    file: publication,
    find: 'if (preempted === undefined) throw new IntervalTaken()',
    replace: '',
  },
  {
    what: 'a task does not renew its claim',
    file: attempt,
    find: 'await renewClaim(database, task.id, number, claimMs, attempt.progress)',
    replace: 'true',
  },
  {
    what: 'published files are removed with their working directory',
    file: attempt,
    find: 'await files.end(own)',
    replace: 'await files.removeThrough(own)',
  },
  {
    what: 'a restarted worker removes files that its earlier lifetime published',
    file: files,
    find: "if (task === undefined || (isNewest && task.state === 'SUCCESS')) await end(attempt)\n    else await",
    replace: 'await',
  },
  {
    what: 'a task that fails while Postgres is unavailable counts as failed for good',
    file: attempt,
    find: "if (!(error instanceof Failure) || error.code === 'unavailable') throw error",
    replace: 'if (!(error instanceof Failure)) throw error',
  },
  {
    what: 'a kill task removes files before their segments',
    file: kill,
    find: '        // Rows must not be deleted',
    replace:
      '        await removeFiles(deepStorage, progress.filesToRemove, signal)\n        // Rows must not be deleted',
  },
  {
    what: 'compaction replaces segments that have changed since it read them',
    file: compaction,
    find: "if (present.visibleIds.join('\\n') !== visibleIds.join('\\n')) {",
    replace: 'if (false) {',
  },
  {
    what: 'a superseded compaction publishes',
    file: compaction,
    find: "if (!(await finishAttempt(transaction, taskId, attempt, end))) return 'notTheAttempt'",
    replace: 'await finishAttempt(transaction, taskId, attempt, end)',
  },
  {
    what: 'marks do not wait for publications',
    file: marks,
    find: 'await lockDatasource(transaction, dataSource)',
    replace: '',
  },
  {
    what: 'marks are stored without an audit entry',
    file: marks,
    find: 'if (changed > 0) {',
    replace: 'if (false) {',
  },
  {
    what: 'tasks that were lost with the queue are not queued again',
    file: queueTasks,
    find: 'const tasks = await loadUnclaimedTasks(database, maxTasksPerRun)',
    replace:
      'if (1) return undefined\n      const tasks = await loadUnclaimedTasks(database, maxTasksPerRun)',
  },
]

const followed = 'services/broker/src/server-view/followed-segments.ts'

const ofRequests: readonly KnownMutation[] = [
  {
    what: 'rules are acknowledged before they are stored',
    file: 'services/coordinator/src/endpoints/rules.ts',
    find: 'await saveRules(database, dataSource, await rulesText(list), audited, clock.now(), checkVersion)',
    replace:
      'saveRules(database, dataSource, await rulesText(list), audited, clock.now(), checkVersion).catch(() => undefined)',
  },
  {
    what: 'a coordinator that does not lead returns the rules that it knows',
    file: 'services/coordinator/src/main.ts',
    find: '...rulesRoutes(rules, ruleLists).map((one) => atLeader(leadership, context, one)),',
    replace: '...rulesRoutes(rules, ruleLists),',
  },
  {
    what: 'a broker ignores what a restarted server no longer serves',
    file: followed,
    find: "for (const id of this.ids) if (!ids.has(id)) this.remove(id, 'lost')",
    replace: '',
  },
  {
    what: 'a broker does not check the checksums of fetched segments',
    file: 'services/broker/src/query/fetch-segment-files.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text.
    find: "if (`sha256:${hash.digest('hex')}` !== file.payload.loadSpec.checksum) throw wrongData()",
    replace: '',
  },
]

/** Known mistakes, which the simulation must find. */
export const mutations: readonly KnownMutation[] = [...ofLeaders, ...ofDataServers, ...ofTasks, ...ofRequests]
