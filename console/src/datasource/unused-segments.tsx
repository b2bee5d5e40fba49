import { countOf, formatBytes } from '@svc/domain/text'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { maxUnusedSegments, rulesPath, type UnusedSegment, useCaller } from '../cluster/index.ts'
import { fetchJson } from '../session/index.ts'
import { sumOf } from '../sum-of.ts'
import { Problem, useWork } from '../ui/index.ts'

/** How much unused data there is, and a button that makes what the rules keep queryable again. */
export function UnusedSegments({
  dataSource,
  unused,
}: {
  readonly dataSource: string
  readonly unused: readonly UnusedSegment[]
}) {
  const { data: caller } = useCaller(dataSource)
  const queries = useQueryClient()
  const [marked, setMarked] = useState<number>()
  const { problem, isBusy, run } = useWork()
  const restore = () =>
    run(async () => {
      setMarked(await markKeptUsed(dataSource))
      await queries.invalidateQueries()
    })
  if (unused.length === 0 && marked === undefined) return null
  const bytes = sumOf(unused, ({ size }) => size)
  const atLeast = unused.length === maxUnusedSegments ? 'At least ' : ''
  return (
    <div className="row unused" role="status">
      <span className="dim">
        {unused.length > 0 &&
          `${atLeast}${countOf(unused.length, 'unused segment')} (${formatBytes(bytes)}) in deep storage cannot be queried.`}{' '}
        {marked !== undefined &&
          (marked === 0
            ? 'The rules keep none of the segments that they dropped.'
            : `Marked ${countOf(marked, 'segment')} as used.`)}
      </span>
      {unused.length > 0 && caller?.datasource?.write && (
        <button
          type="button"
          disabled={isBusy}
          title="Only segments that drop rules marked as unused, and that the current rules keep"
          onClick={() => void restore()}
        >
          Mark as used what the rules keep
        </button>
      )}
      {problem && <Problem>{problem}</Problem>}
    </div>
  )
}

/** Marks segments as used that drop rules marked as unused and the current rules keep. Returns how many. */
async function markKeptUsed(dataSource: string): Promise<number> {
  let marked = 0
  for (let after: string | null = ''; after !== null; ) {
    const query: string = after === '' ? '' : `?after=${encodeURIComponent(after)}`
    const answer: { readonly numChangedSegments: number; readonly next: string | null } = await fetchJson(
      `${rulesPath(dataSource)}/markUsed${query}`,
      { method: 'POST' },
    )
    marked += answer.numChangedSegments
    after = answer.next
  }
  return marked
}
