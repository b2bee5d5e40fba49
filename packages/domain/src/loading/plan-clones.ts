import { copyFlag, type SegmentTable } from '../inventory/index.ts'
import type { CopyList } from './plan-placement.ts'
import { addLoad, draftOf, hasRoom, type LoadingServer, type ServerDraft } from './server-draft.ts'

/** A server that mirrors the segments of another one. */
export interface ServerClone {
  readonly target: LoadingServer
  /** The number of the source server; undefined if it is unavailable. Then the clone stays unchanged. */
  readonly source: number | undefined
}

/**
 * Plans the loads and drops that make clones match what their sources serve or load. Clones take part in nothing else:
 * their segments do not count as replicas. A load must fit on the server, and a queue has at most `maxLoadsPerServer`.
 */
export function planClones(
  { copies, rowLimit, sizeOf }: SegmentTable,
  clones: readonly ServerClone[],
  maxLoadsPerServer: number,
): { readonly loads: CopyList; readonly drops: CopyList } {
  const loads: CopyList = { rows: [], servers: [] }
  const drops: CopyList = { rows: [], servers: [] }
  const drafts: { readonly source: number; readonly draft: ServerDraft }[] = clones.flatMap(
    ({ source, target }) => (source === undefined ? [] : [{ source, draft: draftOf(target) }]),
  )
  if (drafts.length === 0) return { loads, drops }
  for (let row = 0; row < rowLimit; row += 1) {
    if ((copies.firstOf[row] ?? -1) < 0) continue
    for (const { source, draft } of drafts) {
      const isWanted = holdsSegment(copies.flags(row, source))
      const flags = copies.flags(row, draft.server.number)
      if (isWanted && flags === 0) {
        if (draft.queuedLoads >= maxLoadsPerServer || !hasRoom(draft, sizeOf[row]!)) continue
        addLoad(draft, sizeOf[row]!)
        loads.rows.push(row)
        loads.servers.push(draft.server.number)
      } else if (!isWanted && (flags & (copyFlag.served | copyFlag.dropping)) === copyFlag.served) {
        drops.rows.push(row)
        drops.servers.push(draft.server.number)
      }
    }
  }
  return { loads, drops }
}

/** Whether a server serves or loads a segment and is not dropping it. */
export const holdsSegment = (flags: number): boolean =>
  (flags & copyFlag.dropping) === 0 && (flags & (copyFlag.served | copyFlag.loading)) !== 0
