import { formatBytes, formatCount } from '@svc/domain/text'
import { useQuery } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useRef } from 'react'
import { type QueuedSegments, useClusterState, useInventory, useQueuedSegments } from '../cluster/index.ts'
import { callWorker, type ExplainedSegment, type TimeRange } from '../preview/index.ts'
import { hasCluster } from '../session/index.ts'
import { formatTime, Name, Notice } from '../ui/index.ts'

const limit = 5000
const rowHeight = 62
const maxShortages = 3

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
  const isIncomplete = hasCluster() && segments.some(lacksReplicas)
  const { data: queued } = useQueuedSegments(isIncomplete)
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
      {explained.error && (
        <Notice kind="problem" role="alert">
          {explained.error.message}
        </Notice>
      )}
      {isIncomplete && <Shortages />}
      <SegmentList segments={segments} queued={queued} />
    </dialog>
  )
}

/** Whether a segment has fewer replicas than its rule requires. */
const lacksReplicas = ({ tiers }: ExplainedSegment): boolean =>
  tiers.some(({ wanted, served }) => served < wanted)

/** Why replicas may be missing: failed loads, full tiers, and tiers without servers. */
function Shortages() {
  const { data: state } = useClusterState()
  const shortages = state?.shortages ?? []
  if (shortages.length === 0) return null
  return (
    <Notice kind="warning">
      <ul>
        {shortages.slice(0, maxShortages).map((text) => (
          <li key={text}>{text}</li>
        ))}
        {shortages.length > maxShortages && <li>and {shortages.length - maxShortages} more</li>}
      </ul>
    </Notice>
  )
}

function SegmentList({
  segments,
  queued,
}: {
  readonly segments: readonly ExplainedSegment[]
  readonly queued: QueuedSegments | undefined
}) {
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
            <SegmentRow segment={segments[index]!} queued={queued} />
          </li>
        ))}
      </ul>
    </div>
  )
}

function SegmentRow({
  segment,
  queued,
}: {
  readonly segment: ExplainedSegment
  readonly queued: QueuedSegments | undefined
}) {
  const { interval, version, partitionNum, sizeBytes, servers } = segment
  return (
    <div className="segment">
      <div>
        <code title={segment.id}>{interval.replaceAll('T00:00:00.000Z', '')}</code>
        <span className="dim numbers">
          version <bdi>{version}</bdi>, partition {partitionNum}, {formatBytes(sizeBytes)}
        </span>
      </div>
      <div>
        <span>
          {reasonOf(segment)} {queueTextOf(segment, queued)}
        </span>
      </div>
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

/** Says which servers are about to load or drop a segment. */
function queueTextOf(segment: ExplainedSegment, queued: QueuedSegments | undefined): string {
  if (queued === undefined) return ''
  const { loading, dropping } = queued.get(segment.id) ?? { loading: [], dropping: [] }
  if (loading.length > 0) return `In the load queue of ${loading.join(', ')}.`
  if (dropping.length > 0) return `About to be dropped by ${dropping.join(', ')}.`
  return lacksReplicas(segment) ? 'In no load queue.' : ''
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
