import { countOf, formatBytes, formatCount } from '@svc/domain/text'
import { useQueryClient } from '@tanstack/react-query'
import { maxUnusedSegments, type UnusedSegment, useCaller } from '../cluster/index.ts'
import { Drafts, useDraft } from '../drafts/index.ts'
import { sumOf } from '../sum-of.ts'
import { Outcome, Problem, useWork } from '../ui/index.ts'
import type { Ids } from '../web-worker/index.ts'
import { markKeptUsed, markSegments } from './mark-segments.ts'

/** The segments that were marked last, and as what. */
interface Marked {
  /** Their IDs, in parts that take little memory. */
  readonly parts: readonly Ids[]
  readonly as: 'used' | 'unused'
  /** What is still being marked; undefined if nothing is. */
  readonly progress?: string | undefined
}

// It outlives the screen, so that it can be undone.
const lastMarked = new Drafts<Marked>()

/** Marks segments as used, undoes that, and says how far it is. */
function useMarking(dataSource: string) {
  const queries = useQueryClient()
  const [marked, setMarked] = useDraft(lastMarked, dataSource)
  const { problem, isBusy, run } = useWork()
  const restore = () =>
    run(async () => {
      let parts: readonly Ids[] = []
      const show = (progress?: string) => setMarked({ parts, as: 'used', progress })
      show('Marking segments as used.')
      // A later request may fail, and what is marked until then can be undone.
      try {
        for await (const part of markKeptUsed(dataSource)) {
          parts = [...parts, part]
          show(`Marking segments as used: ${formatCount(countIn(parts))} so far.`)
        }
      } finally {
        show()
        await queries.invalidateQueries()
      }
    })
  const undo = ({ parts, as }: Marked) =>
    run(async () => {
      const next = as === 'used' ? 'unused' : 'used'
      let isDone = false
      try {
        for (const [index, part] of parts.entries()) {
          await markSegments(dataSource, part, next === 'used' ? 'markUsed' : 'markUnused')
          const count = formatCount(countIn(parts.slice(0, index + 1)))
          const progress = `Marking segments as ${next}: ${count} of ${formatCount(countIn(parts))}.`
          setMarked({ parts, as, progress })
        }
        isDone = true
      } finally {
        setMarked({ parts, as: isDone ? next : as })
        await queries.invalidateQueries()
      }
    })
  // The screen may show this elsewhere once there are used segments, while the requests continue.
  const isMarking = isBusy || marked?.progress !== undefined
  return { marked, problem, isMarking, restore, undo }
}

/** How much unused data there is, and a button that makes what the rules keep queryable again. */
export function UnusedSegments({
  dataSource,
  unused,
}: {
  readonly dataSource: string
  readonly unused: readonly UnusedSegment[]
}) {
  const { data: caller } = useCaller(dataSource)
  const { marked, problem, isMarking, restore, undo } = useMarking(dataSource)
  if (unused.length === 0 && marked === undefined) return null
  const bytes = sumOf(unused, ({ size }) => size)
  const atLeast = unused.length === maxUnusedSegments ? 'At least ' : ''
  return (
    <>
      <div id="unused-segments" tabIndex={-1} className="row unused" role="status">
        {unused.length > 0 && (
          <span className="dim">
            {`${atLeast}${countOf(unused.length, 'unused segment')} (${formatBytes(bytes)}) in deep storage cannot be queried.`}
          </span>
        )}
        {unused.length > 0 && caller?.datasource?.write && (
          <button
            type="button"
            disabled={isMarking}
            title="Applies only to segments that drop rules marked as unused and that the current rules keep"
            onClick={() => void restore()}
          >
            Mark segments as used if the rules keep them
          </button>
        )}
        {problem && <Problem>{problem}</Problem>}
      </div>
      {marked && (
        <Outcome isBusy={isMarking} onUndo={countIn(marked.parts) > 0 ? () => void undo(marked) : undefined}>
          {marked.progress ?? markedText(marked)}
        </Outcome>
      )}
    </>
  )
}

const countIn = (parts: readonly Ids[]): number => sumOf(parts, ({ length }) => length)

const markedText = ({ parts, as }: Marked): string =>
  countIn(parts) > 0
    ? `Marked ${countOf(countIn(parts), 'segment')} as ${as}.`
    : 'No segments were marked as used: the current rules keep none of those that drop rules marked as unused.'
