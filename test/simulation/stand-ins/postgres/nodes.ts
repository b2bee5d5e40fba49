import type * as real from '@svc/shared/postgres'
import { statement } from './database.ts'
import { validLeases } from './leases.ts'
import type { StoreView } from './store.ts'

const keyOf = ({ role, name }: { readonly role: string; readonly name: string }): string => `${role} ${name}`
const byKey = (a: { role: string; name: string }, b: { role: string; name: string }): number =>
  keyOf(a) < keyOf(b) ? -1 : 1

type NodeRow = real.AnnouncedNode & { readonly heartbeatAt: number }

export const saveHeartbeat: typeof real.saveHeartbeat = (queries, node) =>
  statement(queries, (view) => renew(view, node))

const renew = (view: StoreView, node: real.AnnouncedNode): void =>
  view.put(view.tables.nodes, keyOf(node), { ...node, heartbeatAt: view.startedAt })

export const removeNode: typeof real.removeNode = (queries, node) =>
  statement(queries, (view) => view.remove(view.tables.nodes, keyOf(node)))

export const loadNodes: typeof real.loadNodes = (queries, timeoutMs) =>
  statement(queries, (view) => aliveNodes(view, timeoutMs))

export const refreshMembers: typeof real.refreshMembers = (queries, { own, roles, timeoutMs, soonMs }) =>
  statement(queries, (view) => {
    if (own) renew(view, own)
    const isOwn = (node: NodeRow): boolean => own?.role === node.role && own.name === node.name
    return {
      nodes: aliveNodes(view, timeoutMs, (node) => roles.includes(node.role) || isOwn(node)),
      leases: validLeases(view, soonMs),
    }
  })

function aliveNodes(
  view: StoreView,
  timeoutMs: number,
  isWanted: (node: NodeRow) => boolean = () => true,
): real.AnnouncedNode[] {
  const since = view.startedAt - timeoutMs
  return view
    .entries(view.tables.nodes)
    .filter(([, node]) => node.heartbeatAt > since && isWanted(node))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { heartbeatAt: _, ...node }]) => node)
}

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
