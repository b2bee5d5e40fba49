import { countOf, formatBytes } from '@svc/domain/text'
import { scaleUtc } from 'd3-scale'
import { type KeyboardEvent, type MouseEvent, useRef } from 'react'
import { sumOf } from '../sum-of.ts'
import { formatTime, Name, useWidth } from '../ui/index.ts'
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
  const onClick = (event: MouseEvent<SVGSVGElement>) => {
    const { left, top } = event.currentTarget.getBoundingClientRect()
    const row = Math.floor((event.clientY - top - axisHeight) / rowHeight)
    const cell = Math.floor(((event.clientX - left) / width) * cellCount)
    if (row >= 0 && row < rows.length) onCursor({ row, cell })
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
            aria-hidden="true"
          >
            <Cells calendar={calendar} cursor={cursor} width={width} />
          </svg>
        )}
      </div>
    </div>
  )
}

/** The time axis and the cells below it. */
function Cells({
  calendar: { rows, start, end },
  cursor,
  width,
}: {
  readonly calendar: Calendar
  readonly cursor: HeatMapCursor | undefined
  readonly width: number
}) {
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
        {rows.map(({ status, cells }, row) =>
          cells.map((cell, at) => (
            <Cell
              key={`${status.dataSource} ${cell.start}`}
              cell={cell}
              x={scale(cell.start)}
              width={scale(cell.end) - scale(cell.start)}
              top={axisHeight + row * rowHeight}
              isCurrent={cursor?.row === row && cursor.cell === at}
            />
          )),
        )}
      </g>
    </>
  )
}

const moves: Readonly<Record<string, HeatMapCursor>> = {
  ArrowLeft: { row: 0, cell: -1 },
  ArrowRight: { row: 0, cell: 1 },
  ArrowUp: { row: -1, cell: 0 },
  ArrowDown: { row: 1, cell: 0 },
}

function Cell({
  cell,
  x,
  width,
  top,
  isCurrent,
}: {
  readonly cell: CalendarCell
  readonly x: number
  readonly width: number
  readonly top: number
  readonly isCurrent: boolean
}) {
  return (
    <rect
      className={isCurrent ? `${kinds[cell.state]} current` : kinds[cell.state]}
      x={x + 0.5}
      y={top + 3}
      width={Math.max(1, width - 1.5)}
      height={rowHeight - 6}
      rx={2}
    >
      <title>{titleOf(cell)}</title>
    </rect>
  )
}

/** The time, number of intervals, and size of a cell. */
export const titleOf = ({ start, end, intervals }: CalendarCell): string =>
  `${formatTime(start)} to ${formatTime(end)}: ${countOf(intervals.length, 'interval')}, ${formatBytes(
    sumOf(intervals, ({ bytes }) => bytes),
  )}`
