import type * as real from '@svc/shared/postgres'
import { statement } from './database.ts'

const keyOf = ({ role, name }: { readonly role: string; readonly name: string }): string => `${role} ${name}`
const byKey = (a: { role: string; name: string }, b: { role: string; name: string }): number =>
  keyOf(a) < keyOf(b) ? -1 : 1

export const saveHeartbeat: typeof real.saveHeartbeat = (queries, node) =>
  statement(queries, (view) =>
    view.put(view.tables.nodes, keyOf(node), { ...node, heartbeatAt: view.startedAt }),
  )

export const removeNode: typeof real.removeNode = (queries, node) =>
  statement(queries, (view) => view.remove(view.tables.nodes, keyOf(node)))

export const loadNodes: typeof real.loadNodes = (queries, timeoutMs, wanted) =>
  statement(queries, (view) =>
    view
      .rows(view.tables.nodes)
      .filter(({ heartbeatAt }) => heartbeatAt > view.startedAt - timeoutMs)
      .filter(
        (node) =>
          wanted === undefined ||
          wanted.roles.includes(node.role) ||
          (wanted.own !== undefined && keyOf(wanted.own) === keyOf(node)),
      )
      .map(({ heartbeatAt: _, ...node }) => node)
      .sort(byKey),
  )

export const removeStaleNodes: typeof real.removeStaleNodes = (queries, keptMs) =>
  statement(queries, (view) =>
    view.removeWhere(view.tables.nodes, ({ heartbeatAt }) => heartbeatAt < view.startedAt - keptMs),
  )

export const saveServerProblem: typeof real.saveServerProblem = (queries, problem) =>
  statement(queries, (view) =>
    view.put(view.tables.serverProblems, keyOf(problem), { ...problem, reportedAt: view.startedAt }),
  )

export const removeServerProblem: typeof real.removeServerProblem = (queries, server) =>
  statement(queries, (view) => view.remove(view.tables.serverProblems, keyOf(server)))

export const loadServerProblems: typeof real.loadServerProblems = (queries, timeoutMs) =>
  statement(queries, (view) =>
    view
      .rows(view.tables.serverProblems)
      .filter(({ reportedAt }) => reportedAt > view.startedAt - timeoutMs)
      .map(({ reportedAt: _, ...problem }) => problem)
      .sort(byKey),
  )

export const removeStaleProblems: typeof real.removeStaleProblems = (queries, keptMs) =>
  statement(queries, (view) =>
    view.removeWhere(view.tables.serverProblems, ({ reportedAt }) => reportedAt < view.startedAt - keptMs),
  )

export const loadLoadRates: typeof real.loadLoadRates = (queries) =>
  statement(
    queries,
    (view) => new Map(view.entries(view.tables.loadRates).map(([server, { sums }]) => [server, sums])),
  )

export const saveLoadRates: typeof real.saveLoadRates = (queries, rates) =>
  statement(queries, (view) => {
    for (const [server, sums] of rates)
      view.put(view.tables.loadRates, server, { sums, measuredAt: view.startedAt })
  })

export const removeStaleLoadRates: typeof real.removeStaleLoadRates = (queries, keptMs) =>
  statement(queries, (view) =>
    view.removeWhere(view.tables.loadRates, ({ measuredAt }) => measuredAt < view.startedAt - keptMs),
  )
