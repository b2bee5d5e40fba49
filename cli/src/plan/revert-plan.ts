import { forbidden, notFound } from '@svc/domain/failure'
import { commentOf } from '@svc/domain/saved-plan'
import { formatCount } from '@svc/domain/text'
import type { ClusterClient } from '../client/index.ts'
import { type Change, fieldAt, isField, type Plan, progressOf, valueAt } from '../declared-state/index.ts'
import { assertReadable, readLiveState } from '../live-state/index.ts'
import type { PreviewRules } from '../preview/index.ts'
import { markKeptUsed, type RulesChange, rulesPath } from '../rules/index.ts'
import { type MadePlan, makePlan } from './make-plan.ts'
import { assertSameCluster } from './same-cluster.ts'

/** The changes that undo those of a plan, and what they cannot undo. */
export interface Reversal {
  readonly changes: readonly Change[]
  readonly warnings: readonly string[]
}

/** Returns the changes that undo those of a plan. */
export function reversalOf({ changes }: Pick<Plan, 'changes'>): Reversal {
  const warnings: string[] = []
  const reversed = changes.flatMap((change): Change[] => {
    const { kind, path, action, before, after } = change
    const field = fieldAt(path)
    if (isField(change) && before === undefined) {
      warnings.push(`[${field}] had no value before the plan was applied and keeps its current value`)
      return []
    }
    if (kind === 'logins' && action === 'change') {
      warnings.push(`[${field}] keeps its password`)
      return []
    }
    if (kind === 'logins' && action === 'remove')
      warnings.push(`[${field}] is created again without a password`)
    const actions = { add: 'remove', change: 'change', remove: 'add' } as const
    // What was read of a login is not something that can be written.
    const restored = kind === 'logins' && before !== undefined ? {} : before
    return [{ kind, path, action: actions[action], before: after, after: restored }]
  })
  return { changes: reversed, warnings }
}

/**
 * Plans how to undo an applied plan. What is already undone, or was never applied, is left out. Throws forbidden if the same
 * entries were changed since by others.
 */
export async function planReversal(
  client: ClusterClient,
  applied: Plan,
  preview: PreviewRules,
  now: Date,
): Promise<MadePlan> {
  await assertSameCluster(applied, client)
  const { changes, warnings } = reversalOf(applied)
  const live = await readLiveState(client, new Set(changes.map(({ path }) => path[0]!)))
  await assertReadable(client, live, changes)
  const progress = changes.map((change) => ({
    change,
    state: progressOf(change, valueAt(live, change.path)),
  }))
  const conflicts = progress.filter(({ state }) => state === 'conflict')
  if (conflicts.length > 0)
    throw forbidden(
      `Parts of the configuration were changed after plan [${applied.id}] was applied: [${conflicts.map(({ change }) => fieldAt(change.path)).join('], [')}]. Nothing was reverted.`,
    )
  const open = progress.filter(({ state }) => state === 'open').map(({ change }) => change)
  const ids = await changeIds(client, applied)
  if (client.interfaceName === 'svc') assertInHistory(applied, open, ids)
  const made = await makePlan(client, { live, changes: open }, preview, now, {
    ...(ids.size === 0 ? {} : { markUsedSince: Math.min(...ids.values()) }),
  })
  return { ...made, warnings: [...warnings, ...made.warnings] }
}

// Enough for years of changes, and few enough for one answer.
const maxChanges = 1000

/** Returns the ID of the change that a plan made to each list of rules, by name. Lists that it did not change are left out. */
async function changeIds(client: ClusterClient, { id, changes }: Plan): Promise<ReadonlyMap<string, number>> {
  const ids = new Map<string, number>()
  if (client.interfaceName === 'druid') return ids
  for (const { kind, path } of changes) {
    if (kind !== 'rules') continue
    const name = path.at(-1)!
    const history = (await client.send(
      'GET',
      `${rulesPath(name)}/history?full&count=${maxChanges}`,
    )) as RulesChange[]
    const made = history.find(({ auditInfo }) => auditInfo.comment.includes(commentOf(id)))
    if (made?.id !== undefined) ids.set(name, made.id)
  }
  return ids
}

/**
 * Throws notFound if the history does not show when a plan changed the rules that the revert restores: then it is unknown which
 * segments became unused because of the plan, and they would stay unused without notice.
 */
function assertInHistory(
  { id, changes }: Plan,
  open: readonly Change[],
  ids: ReadonlyMap<string, number>,
): void {
  const rulesOf = (list: readonly Change[]) => list.filter(({ kind }) => kind === 'rules')
  const needed = open.length === 0 && ids.size === 0 ? rulesOf(changes) : rulesOf(open)
  const missing = needed.filter(({ path }) => !ids.has(path.at(-1)!))
  if (missing.length === 0) return
  throw notFound(
    `Plan [${id}] was not applied to this cluster: the last ${formatCount(maxChanges)} changes in the audit history of [${missing.map(({ path }) => fieldAt(path)).join('], [')}] include none with the comment [${commentOf(id)}]. Nothing was reverted. To restore earlier rules and their segments, use ./svc rules revert.`,
  )
}

// Few enough for one request.
const maxIdsPerRequest = 1000

/**
 * Marks segments as used again that the rules of an applied plan have marked as unused, after the earlier rules were restored.
 * Druid does not record why segments are unused, so there, these are the segments that the plan predicted. Returns how many.
 */
export async function restoreSegments(
  client: ClusterClient,
  applied: Plan,
  headers: Readonly<Record<string, string>>,
): Promise<number> {
  let restored = 0
  for (const [name, id] of await changeIds(client, applied))
    restored += await markKeptUsed(client, name, id, headers)
  for (const [name, ids] of Object.entries(applied.unusedSegments ?? {})) {
    const path = `/svc/coordinator/v1/datasources/${encodeURIComponent(name)}/markUsed`
    for (let start = 0; start < ids.length; start += maxIdsPerRequest) {
      const segmentIds = ids.slice(start, start + maxIdsPerRequest)
      const answer = (await client.send('POST', path, { segmentIds }, headers)) as {
        readonly numChangedSegments?: number
      }
      restored += answer.numChangedSegments ?? 0
    }
  }
  return restored
}
