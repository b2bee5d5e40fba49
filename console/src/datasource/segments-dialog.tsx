import { formatBytes, formatCount } from '@svc/domain/text'
import { useQuery } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useRef } from 'react'
import { useInventory } from '../cluster/index.ts'
import { callWorker, type ExplainedSegment, type TimeRange } from '../preview/index.ts'
import { formatTime, Name } from '../ui/index.ts'

const limit = 5000
const rowHeight = 62

/** Why the segments of a part of the time axis are where they are: matched rule, required and served replicas. */
export function SegmentsDialog({
  dataSource,
  range,
  onClose,
}: {
  readonly dataSource: string
  readonly range: TimeRange
  onClose(): void
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  const { data: inventory } = useInventory()
  useEffect(() => dialog.current?.showModal(), [])
  const explained = useQuery({
    queryKey: ['explain', dataSource, range, inventory?.revision],
    queryFn: () => callWorker('explain', { dataSource, range, limit }),
  })
  const segments = explained.data?.segments ?? []
  return (
    <dialog ref={dialog} className="why" aria-labelledby="why-title" onClose={onClose}>
      <div className="row between">
        <h2 id="why-title">
          Why: <Name>{dataSource}</Name>, {formatTime(range.start)} to {formatTime(range.end)}
        </h2>
        <button type="button" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
      <p className="dim">
        {explained.data &&
          `${formatCount(explained.data.total)} segments, under the stored rules${explained.data.total > limit ? `; the first ${formatCount(limit)} are listed` : ''}.`}
      </p>
      <SegmentList segments={segments} />
    </dialog>
  )
}

function SegmentList({ segments }: { readonly segments: readonly ExplainedSegment[] }) {
  const box = useRef<HTMLDivElement>(null)
  const rows = useVirtualizer({
    count: segments.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    overscan: 6,
  })
  return (
    <div ref={box} className="scroll" tabIndex={0} role="group" aria-label="Segments">
      <ul style={{ height: rows.getTotalSize() }} className="virtual">
        {rows.getVirtualItems().map(({ index, start }) => (
          <li key={index} style={{ transform: `translateY(${start}px)`, height: rowHeight }}>
            <SegmentRow segment={segments[index]!} />
          </li>
        ))}
      </ul>
    </div>
  )
}

function SegmentRow({ segment }: { readonly segment: ExplainedSegment }) {
  const { interval, version, partitionNum, sizeBytes, servers } = segment
  return (
    <div className="segment">
      <div>
        <code title={segment.id}>{interval.replaceAll('T00:00:00.000Z', '')}</code>
        <span className="dim numbers">
          version <bdi>{version}</bdi>, partition {partitionNum}, {formatBytes(sizeBytes)}
        </span>
      </div>
      <div>{reasonOf(segment)}</div>
      <div className="dim">
        {servers.length === 0 ? (
          'No server serves it.'
        ) : (
          <>
            Served by <Name>{servers.join(', ')}</Name>
          </>
        )}
      </div>
    </div>
  )
}

/** Says in a sentence why a segment is loaded where it is. */
function reasonOf({ rule, action, isOvershadowed, tiers }: ExplainedSegment): string {
  if (isOvershadowed) return 'Overshadowed: newer versions cover its entire interval, so it is not loaded.'
  const name =
    rule === undefined ? '' : rule.source === 'default' ? `Default rule ${rule.index}` : `Rule ${rule.index}`
  if (action === 'drop') return `${name} drops it.`
  if (action === 'broadcast') return `${name} loads it on every server.`
  const parts = tiers.map(({ tier, wanted, served }) => `${tier}: ${served} of ${wanted} served`)
  return `${name} applies. ${parts.join('; ')}.`
}
