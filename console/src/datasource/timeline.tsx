import { formatInstant, parseInstant } from '@svc/domain/time'
import { type ScaleTime, scaleUtc } from 'd3-scale'
import {
  type KeyboardEvent,
  type PointerEvent,
  useCallback,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
} from 'react'
import { useWidth } from '../ui/index.ts'
import type { PreviewView, TimeRange } from '../web-worker/index.ts'
import { axisTicks } from './axis-ticks.ts'
import { BarLane } from './bar-lane.tsx'
import type { LaneCell } from './lane-cell.ts'
import { BandLane, type BandRule, CellLane } from './lanes.tsx'
import { type MoveArrows, moveArrows } from './move-arrows.ts'
import { MoveLane, moveRowHeight } from './move-lane.tsx'
import { shifted, zoomed } from './zoom.ts'

/** What the timeline shows. Every lane has the same time axis. */
export interface TimelineInput {
  readonly view: PreviewView
  readonly range: TimeRange
  /** Start of each bucket, in epoch milliseconds. */
  readonly colors: ReadonlyMap<string, number>
  readonly isEdited: boolean
  readonly bandsNow: readonly BandRule[]
  readonly bandsAfter: readonly BandRule[]
  readonly cells: readonly { readonly label: string; readonly cells: readonly LaneCell[] }[]
  readonly cursor: number | undefined
  onCursor(bucket: number | undefined): void
  onRange(range: TimeRange | undefined): void
  /** Explains why the segments of a bucket are where they are. */
  onExplain(bucket: number): void
}

/** Space for the names of lanes, in pixels. */
const labelWidth = 116
const axisHeight = 20
const bandHeight = 24
const cellHeight = 18

/** The time axis with all its lanes. Arrow keys move the cursor, and dragging zooms. */
export function Timeline(input: TimelineInput) {
  const box = useRef<HTMLDivElement>(null)
  const width = Math.max(200, useWidth(box) - labelWidth)
  const { range, view, isEdited, bandsNow, bandsAfter, cells, cursor } = input
  const scale = useMemo(
    () => scaleUtc([new Date(range.start), new Date(range.end)], [0, width]),
    [range.start, range.end, width],
  )
  const barHeight = Math.round(Math.min(300, Math.max(150, innerHeight * 0.24)))
  const { onKeyDown, pointer, brush } = useAxisControl(input, scale)
  const clipId = useId()
  const moves = useMemo(
    () => moveArrows(view.moves ?? [], (instant) => scale(instant), width),
    [view.moves, scale, width],
  )
  const tops = topsOf(barHeight, moves.rows, isEdited)
  const height = tops.cells + cells.length * cellHeight
  const xOf = useBucketPositions(view, scale)
  return (
    <div
      ref={box}
      className="timeline"
      role="group"
      tabIndex={0}
      aria-label="Time axis. Arrow keys move the cursor, plus and minus zoom, 0 shows all data, Enter explains the segments."
      onKeyDown={onKeyDown}
    >
      <svg width={width + labelWidth} height={height} aria-hidden="true" {...pointer}>
        <Patterns />
        <clipPath id={clipId}>
          <rect width={width} height={height} />
        </clipPath>
        <g transform={`translate(${labelWidth},0)`}>
          <BarLane
            view={view}
            colors={input.colors}
            scale={scale}
            height={barHeight}
            isEdited={isEdited}
            clipId={clipId}
          />
          <Axis scale={scale} top={barHeight} />
          <g clipPath={`url(#${clipId})`}>
            <BandLane bands={bandsNow} scale={scale} top={tops.bands} />
            <MoveLane arrows={moves.arrows} colors={input.colors} top={tops.moves} />
            {isEdited && <BandLane bands={bandsAfter} scale={scale} top={tops.after} isFuture />}
            {cells.map((lane, index) => (
              <CellLane key={lane.label} cells={lane.cells} xOf={xOf} top={tops.cells + index * cellHeight} />
            ))}
          </g>
          {cursor !== undefined && (
            <rect
              className="cursor"
              x={xOf(cursor)}
              width={Math.max(2, xOf(cursor + 1) - xOf(cursor))}
              height={height}
            />
          )}
          {brush && <rect className="brush" x={brush.from} width={brush.to - brush.from} height={height} />}
        </g>
        <LaneNames cells={cells} isEdited={isEdited} moves={moves} tops={tops} />
      </svg>
    </div>
  )
}

/** Returns where a bucket starts: the same function while only the cursor moves, so that lanes are not rendered again. */
function useBucketPositions({ buckets }: PreviewView, scale: Scale): (bucket: number) => number {
  const start = buckets ? parseInstant(buckets.start) : 0
  const widthMs = buckets?.widthMs ?? 1
  return useCallback((bucket: number) => scale(start + bucket * widthMs), [scale, start, widthMs])
}

/** Where lanes start, in pixels. */
interface LaneTops {
  readonly bands: number
  readonly moves: number
  readonly after: number
  readonly cells: number
}

function topsOf(barHeight: number, moveRows: number, isEdited: boolean): LaneTops {
  const bands = barHeight + axisHeight
  // Arrows point from the rules of now to those of the edit.
  const moves = bands + bandHeight
  const after = moves + moveRows * moveRowHeight
  return { bands, moves, after, cells: after + (isEdited ? bandHeight : 0) + 4 }
}

function LaneNames({
  cells,
  isEdited,
  moves,
  tops,
}: Pick<TimelineInput, 'cells' | 'isEdited'> & { readonly moves: MoveArrows; readonly tops: LaneTops }) {
  return (
    <g className="lane-names">
      <text y={tops.bands - axisHeight - 6}>replicas by tier</text>
      <text y={tops.bands + 16}>{isEdited ? 'current rules' : 'rules'}</text>
      {moves.rows > 0 && <text y={tops.moves + 19}>moves</text>}
      {moves.hidden > 0 && <text y={tops.moves + 33}>{`${moves.hidden} more below`}</text>}
      {isEdited && (
        <text className="future-text" y={tops.after + 16}>
          edited rules
        </text>
      )}
      {cells.map(({ label }, index) => (
        <text key={label} y={tops.cells + index * cellHeight + 12}>
          {label}
        </text>
      ))}
    </g>
  )
}

type Scale = ScaleTime<number, number>

function Axis({ scale, top }: { readonly scale: Scale; readonly top: number }) {
  const [, width = 0] = scale.range()
  const ticks = axisTicks(scale, width)
  const isDaily = ticks.every(({ time }) => time.getTime() % 86_400_000 === 0)
  const isMonthly = isDaily && ticks.every(({ time }) => time.getUTCDate() === 1)
  return (
    <g className="axis" transform={`translate(0,${top})`}>
      <line x2={width} />
      {ticks.map(({ time, x, isAtStart, isAtEnd }) => {
        // The year may have more than four digits.
        const text = formatInstant(time.getTime())
        const label = isMonthly
          ? text.slice(0, -17)
          : isDaily
            ? text.slice(0, -14)
            : text.slice(-19, -8).replace('T', ' ')
        return (
          <g key={text} transform={`translate(${x},0)`}>
            <line y2={4} />
            <text y={15} textAnchor={isAtEnd ? 'end' : isAtStart ? 'start' : 'middle'}>
              {label}
            </text>
          </g>
        )
      })}
    </g>
  )
}

/** The hatching of a loss, and the one of data that is not served, in the size of pixels. */
const Patterns = () => (
  <defs>
    <pattern id="loss" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
      <rect className="loss-ground" width="6" height="6" />
      <rect className="loss-stripe" width="3" height="6" />
    </pattern>
    <pattern id="partial" width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
      <rect className="partial-ground" width="4" height="4" />
      <rect className="partial-stripe" width="2" height="4" />
    </pattern>
  </defs>
)

interface Brush {
  readonly from: number
  readonly to: number
}

/** Handles keys and the pointer. */
function useAxisControl(input: TimelineInput, scale: Scale) {
  const { view, range, cursor, onCursor, onRange, onExplain } = input
  const [anchor, setAnchor] = useState<number>()
  const [brush, setBrush] = useState<Brush>()
  const count = view.buckets?.count ?? 0
  const start = view.buckets ? parseInstant(view.buckets.start) : 0
  const widthMs = view.buckets?.widthMs ?? 1
  const zoom = (factor: number, center: number) => onRange(zoomed(range, factor, center))
  const middle = (range.start + range.end) / 2
  useEffect(() => () => onCursor(undefined), [onCursor])
  const onKeyDown = (event: KeyboardEvent) => {
    const at = cursor ?? Math.floor(count / 2)
    const center = cursor === undefined ? middle : start + (cursor + 0.5) * widthMs
    const span = range.end - range.start
    const keys: Record<string, () => void> = {
      ArrowLeft: () => (event.shiftKey ? onRange(shifted(range, -span / 4)) : onCursor(Math.max(0, at - 1))),
      ArrowRight: () =>
        event.shiftKey ? onRange(shifted(range, span / 4)) : onCursor(Math.min(count - 1, at + 1)),
      Home: () => onCursor(0),
      End: () => onCursor(count - 1),
      '+': () => zoom(0.5, center),
      '=': () => zoom(0.5, center),
      '-': () => zoom(2, center),
      '0': () => onRange(undefined),
      Enter: () => cursor !== undefined && onExplain(cursor),
    }
    const act = keys[event.key]
    if (act === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    act()
  }
  const xOf = (event: PointerEvent) =>
    event.clientX - event.currentTarget.getBoundingClientRect().left - labelWidth
  const brushed = ({ from, to }: Brush): TimeRange => ({
    start: scale.invert(from).getTime(),
    end: scale.invert(to).getTime(),
  })
  const bucketAt = (x: number) => Math.floor((scale.invert(x).getTime() - start) / widthMs)
  const pointer = {
    onPointerMove: (event: PointerEvent) => {
      const x = xOf(event)
      const bucket = bucketAt(x)
      onCursor(x >= 0 && bucket >= 0 && bucket < count ? bucket : undefined)
      if (anchor !== undefined && Math.abs(x - anchor) > 3)
        setBrush({ from: Math.max(0, Math.min(anchor, x)), to: Math.max(anchor, x) })
    },
    onPointerDown: (event: PointerEvent) => {
      if (event.button !== 0 || xOf(event) < 0) return
      setAnchor(xOf(event))
      // So that dragging past the end of the axis still zooms.
      event.currentTarget.setPointerCapture(event.pointerId)
    },
    onPointerUp: (event: PointerEvent) => {
      if (brush) onRange(zoomed(brushed(brush), 1, (brushed(brush).start + brushed(brush).end) / 2))
      else if (anchor !== undefined) {
        const bucket = bucketAt(xOf(event))
        if (bucket >= 0 && bucket < count) onExplain(bucket)
      }
      setAnchor(undefined)
      setBrush(undefined)
    },
    onPointerLeave: () => {
      setAnchor(undefined)
      setBrush(undefined)
    },
  }
  return { onKeyDown, pointer, brush }
}
