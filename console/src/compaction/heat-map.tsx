import { countOf, formatBytes } from '@svc/domain/text'
import { scaleUtc } from 'd3-scale'
import { type KeyboardEvent, type MouseEvent, memo, useRef, useState } from 'react'
import { boxPath } from '../box-path.ts'
import { sumOf } from '../sum-of.ts'
import { formatRange, formatTime, Name, useWidth } from '../ui/index.ts'
import type { Calendar, CalendarCell } from './calendar.ts'

/** A selected cell: the number of its row and of the cell. */
export interface HeatMapCursor {
  readonly row: number
  readonly cell: number
}

const rowHeight = 24
const axisHeight = 20
// Room for a date.
const tickPixels = 130

/** The class of a cell by its state. */
export const kinds: Readonly<Record<CalendarCell['state'], string>> = {
  compacted: 'full',
  awaiting: 'waiting',
  mixed: 'mixed',
  skipped: 'skipped',
  none: 'none',
}

/** The states of all datasources over time. Arrow keys move the cursor. */
export function HeatMap({
  calendar,
  cursor,
  onCursor,
}: {
  readonly calendar: Calendar
  readonly cursor: HeatMapCursor | undefined
  onCursor(cursor: HeatMapCursor): void
}) {
  const box = useRef<HTMLDivElement>(null)
  const width = useWidth(box)
  const [hovered, setHovered] = useState<HeatMapCursor>()
  const { rows } = calendar
  const cellCount = rows[0]?.cells.length ?? 0
  const onKey = (event: KeyboardEvent) => {
    const move = moves[event.key]
    if (!move) return
    event.preventDefault()
    const from = cursor ?? { row: 0, cell: cellCount - 1 }
    onCursor({
      row: Math.min(rows.length - 1, Math.max(0, from.row + move.row)),
      cell: Math.min(cellCount - 1, Math.max(0, from.cell + move.cell)),
    })
  }
  const cellAt = (event: MouseEvent<SVGSVGElement>): HeatMapCursor | undefined => {
    const { left, top } = event.currentTarget.getBoundingClientRect()
    const row = Math.floor((event.clientY - top - axisHeight) / rowHeight)
    const cell = Math.floor(((event.clientX - left) / width) * cellCount)
    return row >= 0 && row < rows.length && cell >= 0 && cell < cellCount ? { row, cell } : undefined
  }
  const onClick = (event: MouseEvent<SVGSVGElement>) => {
    const at = cellAt(event)
    if (at) onCursor(at)
  }
  return (
    <div className="heat-map">
      <ul className="heat-names" style={{ paddingTop: axisHeight }}>
        {rows.map(({ status }) => (
          <li key={status.dataSource} style={{ height: rowHeight }}>
            <Name>{status.dataSource}</Name>
          </li>
        ))}
      </ul>
      <div
        ref={box}
        className="timeline"
        tabIndex={0}
        role="group"
        aria-label="Compaction of all datasources over time. Arrow keys move the cursor."
        onKeyDown={onKey}
      >
        {width > 0 && (
          <svg
            width={width}
            height={axisHeight + rows.length * rowHeight}
            onClick={onClick}
            onPointerMove={(event) => setHovered(cellAt(event))}
            onPointerLeave={() => setHovered(undefined)}
            aria-hidden="true"
          >
            <Cells calendar={calendar} width={width} />
            {hovered && <Cell calendar={calendar} at={hovered} width={width} />}
            {cursor && <Cell calendar={calendar} at={cursor} width={width} isCurrent />}
          </svg>
        )}
      </div>
    </div>
  )
}

/** The time axis and the cells below it. */
const Cells = memo(function Cells({
  calendar,
  width,
}: {
  readonly calendar: Calendar
  readonly width: number
}) {
  const { rows, start, end } = calendar
  const scale = scaleUtc([start, end], [0, width])
  return (
    <>
      <g className="axis">
        {scale.ticks(Math.max(2, Math.floor(width / tickPixels))).map((tick) => (
          <text key={tick.getTime()} x={scale(tick)} y={13}>
            {formatTime(tick.getTime())}
          </text>
        ))}
      </g>
      <g className="cells">
        {rows.map(({ status, cells }, row) => (
          <Row key={status.dataSource} cells={cells} top={topOf(row)} pitch={width / cells.length} />
        ))}
      </g>
    </>
  )
})

const cellHeight = rowHeight - 6
const topOf = (row: number): number => axisHeight + row * rowHeight + 3
/** Returns the left edge and the width of a cell, in pixels. */
const boxOf = (cell: number, pitch: number) => ({
  x: Math.round(10 * (cell * pitch + 0.5)) / 10,
  width: Math.round(10 * Math.max(1, pitch - 1.5)) / 10,
})

/** The cells of a datasource: a path for each state, because many rows of separate cells take too long to draw. */
function Row({
  cells,
  top,
  pitch,
}: {
  readonly cells: readonly CalendarCell[]
  readonly top: number
  readonly pitch: number
}) {
  const paths = new Map<CalendarCell['state'], string>()
  for (const [index, { state }] of cells.entries()) {
    const { x, width } = boxOf(index, pitch)
    paths.set(state, (paths.get(state) ?? '') + boxPath(x, top, width, cellHeight))
  }
  return [...paths].map(([state, d]) => <path key={state} className={kinds[state]} d={d} />)
}

const moves: Readonly<Record<string, HeatMapCursor>> = {
  ArrowLeft: { row: 0, cell: -1 },
  ArrowRight: { row: 0, cell: 1 },
  ArrowUp: { row: -1, cell: 0 },
  ArrowDown: { row: 1, cell: 0 },
}

/** A cell that is selected or under the pointer, with its numbers. */
function Cell({
  calendar,
  at,
  width,
  isCurrent = false,
}: {
  readonly calendar: Calendar
  readonly at: HeatMapCursor
  readonly width: number
  readonly isCurrent?: boolean
}) {
  const row = calendar.rows[at.row]
  const cell = row?.cells[at.cell]
  if (!row || !cell) return null
  const box = boxOf(at.cell, width / row.cells.length)
  return (
    <g className="cells">
      <rect
        className={isCurrent ? `${kinds[cell.state]} current` : kinds[cell.state]}
        {...box}
        y={topOf(at.row)}
        height={cellHeight}
        rx={2}
      >
        <title>{titleOf(cell)}</title>
      </rect>
    </g>
  )
}

/** The time, number of intervals, and size of a cell. */
export const titleOf = ({ start, end, intervals }: CalendarCell): string =>
  `${formatRange({ start, end })}: ${countOf(intervals.length, 'interval')}, ${formatBytes(
    sumOf(intervals, ({ bytes }) => bytes),
  )}`
