import { countOf, formatCount } from '@svc/domain/text'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useRef, useState } from 'react'
import { useInventory } from '../cluster/index.ts'
import { Dialog, formatRange, Name, Problem } from '../ui/index.ts'
import {
  callWorker,
  type ExplainedSegment,
  type ExplainedSegments,
  type TimeRange,
} from '../web-worker/index.ts'
import { SegmentPanel } from './segment-explanation.tsx'

const limit = 5000
const rowHeight = 48

const allTime: TimeRange = { start: -Infinity, end: Infinity }

/**
 * Why the segments of a part of the time axis are where they are: a list, and the explanation of the selected one. Without
 * a part, it starts with all segments that lack replicas.
 */
export function SegmentsDialog({
  dataSource,
  range,
  onClose,
}: {
  readonly dataSource: string
  readonly range: TimeRange | undefined
  onClose(): void
}) {
  const { data: inventory } = useInventory()
  const [chosen, setChosen] = useState<string>()
  const [onlyLacking, setOnlyLacking] = useState(range === undefined)
  const explained = useQuery({
    queryKey: ['explain', dataSource, range, onlyLacking, inventory?.revision],
    queryFn: () => callWorker('explain', { dataSource, range: range ?? allTime, onlyLacking, limit }),
    placeholderData: keepPreviousData,
  })
  const segments = explained.data?.segments ?? []
  const selected = segments.find(({ id }) => id === chosen) ?? segments.find(lacksReplicas) ?? segments[0]
  const title = (
    <>
      Why: <Name>{dataSource}</Name>, {range ? formatRange(range) : 'all data'}
    </>
  )
  return (
    <Dialog className="why" title={title} onClose={onClose}>
      {() => (
        <>
          <div className="row between">
            <p className="dim">{explained.data && countText(explained.data)}</p>
            <label className="check">
              <input
                type="checkbox"
                checked={onlyLacking}
                onChange={(event) => setOnlyLacking(event.target.checked)}
              />
              Only segments that lack replicas
            </label>
          </div>
          {explained.error && <Problem>{explained.error.message}</Problem>}
          {explained.data && segments.length === 0 && (
            <p>{onlyLacking ? 'All segments have the replicas that their rules require.' : 'No segments.'}</p>
          )}
          <div className="why-columns">
            <SegmentList segments={segments} selected={selected?.id} onSelect={setChosen} />
            {selected && <SegmentPanel key={selected.id} dataSource={dataSource} segment={selected} />}
          </div>
        </>
      )}
    </Dialog>
  )
}

/** Says how many segments there are, and how many of them are listed. */
function countText({ total, lacking, segments }: ExplainedSegments): string {
  const listed = segments.length === limit ? `; the first ${formatCount(limit)} are listed` : ''
  return `${countOf(total, 'segment')}, of which ${countOf(lacking, 'lacks', 'lack')} replicas under the stored rules${listed}.`
}

/** Whether a segment has fewer replicas than its rule requires. */
const lacksReplicas = ({ tiers }: ExplainedSegment): boolean =>
  tiers.some(({ wanted, served }) => served < wanted)

function SegmentList({
  segments,
  selected,
  onSelect,
}: {
  readonly segments: readonly ExplainedSegment[]
  readonly selected: string | undefined
  onSelect(id: string): void
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
        {rows.getVirtualItems().map(({ index, start }) => {
          const segment = segments[index]!
          return (
            <li key={index} style={{ transform: `translateY(${start}px)` }}>
              <button
                type="button"
                className="segment"
                style={{ height: rowHeight }}
                aria-current={segment.id === selected ? 'true' : undefined}
                onClick={() => onSelect(segment.id)}
              >
                <span className="numbers">
                  {segment.interval.replaceAll('T00:00:00.000Z', '').replace('/', ' to ')}
                  <span className="dim">, partition {segment.partitionNum}</span>
                </span>
                <span className="dim">{reasonOf(segment)}</span>
              </button>
            </li>
          )
        })}
      </ul>
    </div>
  )
}

/** Says in a sentence why a segment is loaded where it is. */
function reasonOf({ rule, action, isOvershadowed, tiers }: ExplainedSegment): string {
  if (isOvershadowed) return 'Overshadowed by newer versions'
  const name =
    rule === undefined ? '' : rule.source === 'default' ? `Default rule ${rule.index}` : `Rule ${rule.index}`
  if (action === 'drop') return `${name} drops this segment.`
  if (action === 'broadcast') return `${name} loads this segment on every server.`
  const parts = tiers.map(({ tier, wanted, served }) => `${tier}: ${served} of ${wanted} served`)
  return `${name} applies. ${parts.join('; ')}.`
}
