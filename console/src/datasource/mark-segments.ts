import { rulesPathOf } from '@svc/domain/rules'
import { fetchJson, send } from '../session/index.ts'
import { compactIds, type Ids } from '../web-worker/index.ts'

// A request has room for about 10,000 ids.
const idsPerRequest = 5000

/** Marks segments as used or unused. Those that are marked already stay so. Calls `onMarked` with how many are marked. */
export async function markSegments(
  dataSource: string,
  ids: Ids,
  action: 'markUsed' | 'markUnused',
  onMarked: (count: number) => void = () => {},
): Promise<void> {
  const path = `/svc/coordinator/v1/datasources/${encodeURIComponent(dataSource)}/${action}`
  for (let at = 0; at < ids.length; at += idsPerRequest) {
    await send(path, { method: 'POST', body: { segmentIds: ids.slice(at, at + idsPerRequest) } })
    onMarked(Math.min(ids.length, at + idsPerRequest))
  }
}

/** Marks segments as used that drop rules marked as unused and the current rules keep. Yields their IDs, in parts. */
export async function* markKeptUsed(dataSource: string): AsyncGenerator<Ids> {
  for (let after: string | null = ''; after !== null; ) {
    const query: string = after === '' ? '' : `&after=${encodeURIComponent(after)}`
    const answer: { readonly segmentIds: readonly string[]; readonly next: string | null } = await fetchJson(
      `${rulesPathOf(dataSource)}/markUsed?ids${query}`,
      { method: 'POST' },
    )
    for (let at = 0; at < answer.segmentIds.length; at += idsPerRequest) {
      yield compactIds(dataSource, answer.segmentIds.slice(at, at + idsPerRequest))
      // The page must react in between.
      await new Promise((resolve) => setTimeout(resolve))
    }
    after = answer.next
  }
}
