import { copyFlag, type SegmentTable } from '../inventory/index.ts'
import type { CopyList } from './plan-copies.ts'
import { draftOf, giveLoad, hasRoom, type LoadingServer, type ServerDraft } from './server-draft.ts'

/** A server that is to hold just what another one does. */
export interface ServerClone {
  readonly target: LoadingServer
  /** The number of the server that it follows; undefined where that is not there: the clone then stays as it is. */
  readonly source: number | undefined
}

/**
 * The loads and drops that bring clones to what their sources serve or load. Clones take part in nothing else: what
 * they hold counts for no rule. Returns no load that does not fit, or beyond `maxLoadsPerServer` in a queue.
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
      const isWanted = holds(copies.flags(row, source))
      const flags = copies.flags(row, draft.server.number)
      if (isWanted && flags === 0) {
        if (draft.queuedLoads >= maxLoadsPerServer || !hasRoom(draft, sizeOf[row]!)) continue
        giveLoad(draft, sizeOf[row]!)
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

/** Whether a server has or loads a segment that it is not to give up. */
const holds = (flags: number): boolean =>
  (flags & copyFlag.dropping) === 0 && (flags & (copyFlag.served | copyFlag.loading)) !== 0
