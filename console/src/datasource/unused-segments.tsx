import { countOf, formatBytes, formatCount } from '@svc/domain/text'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { maxUnusedSegments, type UnusedSegment, useCaller } from '../cluster/index.ts'
import { Drafts, useDraft } from '../drafts/index.ts'
import { sumOf } from '../sum-of.ts'
import { Outcome, Problem, useWork } from '../ui/index.ts'
import { markKeptUsed, markSegments } from './mark-segments.ts'

/** The segments that were marked last, and as what. */
interface Marked {
  readonly ids: readonly string[]
  readonly as: 'used' | 'unused'
}

// It outlives the screen, so that it can be undone.
const lastMarked = new Drafts<Marked>()

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
  const [marked, setMarked] = useDraft(lastMarked, dataSource)
  const { problem, isBusy, run } = useWork()
  const [progress, setProgress] = useState<string>()
  const work = (steps: () => Promise<void>) =>
    run(async () => {
      try {
        await steps()
      } finally {
        setProgress(undefined)
        await queries.invalidateQueries()
      }
    })
  const restore = () =>
    work(async () => {
      let ids: readonly string[] = []
      // A later request may fail, and what is marked until then can be undone.
      for await (const more of markKeptUsed(dataSource)) {
        ids = ids.concat(more)
        setProgress(`Marking segments as used: ${formatCount(ids.length)} so far.`)
        setMarked({ ids, as: 'used' })
      }
    })
  const undo = ({ ids, as }: Marked) =>
    work(async () => {
      const next = as === 'used' ? 'unused' : 'used'
      await markSegments(dataSource, ids, next === 'used' ? 'markUsed' : 'markUnused', (count) =>
        setProgress(`Marking segments as ${next}: ${formatCount(count)} of ${formatCount(ids.length)}.`),
      )
      setMarked({ ids, as: next })
    })
  if (unused.length === 0 && marked === undefined) return null
  const bytes = sumOf(unused, ({ size }) => size)
  const atLeast = unused.length === maxUnusedSegments ? 'At least ' : ''
  return (
    <>
      <div className="row unused" role="status">
        {unused.length > 0 && (
          <span className="dim">
            {`${atLeast}${countOf(unused.length, 'unused segment')} (${formatBytes(bytes)}) in deep storage cannot be queried.`}
          </span>
        )}
        {unused.length > 0 && caller?.datasource?.write && (
          <button
            type="button"
            disabled={isBusy}
            title="Applies only to segments that drop rules marked as unused and that the current rules keep"
            onClick={() => void restore()}
          >
            Mark segments as used if the rules keep them
          </button>
        )}
        {problem && <Problem>{problem}</Problem>}
      </div>
      {marked && (
        <Outcome isBusy={isBusy} onUndo={marked.ids.length > 0 ? () => void undo(marked) : undefined}>
          {progress ?? markedText(marked)}
        </Outcome>
      )}
    </>
  )
}

const markedText = ({ ids, as }: Marked): string =>
  ids.length > 0
    ? `Marked ${countOf(ids.length, 'segment')} as ${as}.`
    : 'No segments were marked as used: the current rules keep none of those that drop rules marked as unused.'
