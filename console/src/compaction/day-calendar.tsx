import { formatCount } from '@svc/domain/text'
import { dayMs } from '@svc/domain/time'
import { type KeyboardEvent, type MouseEvent, memo, useRef } from 'react'
import { useWidth } from '../ui/index.ts'
import { type CalendarDay, type CalendarYear, maxYears } from './calendar.ts'
import { kinds, titleOf } from './heat-map.tsx'

// A year has up to 54 weeks, the first and the last of which are incomplete.
const weeks = 54
const labelWidth = 64
const axisHeight = 18
const maxPitch = 17
const minPitch = 8
const weekdays = ['Mon', '', 'Wed', '', 'Fri', '', ''] as const
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'] as const
const moves: Readonly<Record<string, number>> = { ArrowLeft: -7, ArrowRight: 7, ArrowUp: -1, ArrowDown: 1 }

/** The days of one datasource: a column for each week, and a row for each weekday. Arrow keys move the cursor. */
export function DayCalendar({
  dataSource,
  years,
  cursor,
  onCursor,
}: {
  readonly dataSource: string
  readonly years: readonly CalendarYear[]
  /** Start of the selected day, in epoch milliseconds. */
  readonly cursor: number | undefined
  onCursor(day: number): void
}) {
  const box = useRef<HTMLDivElement>(null)
  const width = useWidth(box)
  const pitch = Math.max(minPitch, Math.min(maxPitch, Math.floor((width - labelWidth) / weeks)))
  const onKey = (event: KeyboardEvent) => {
    const move = moves[event.key]
    if (move === undefined) return
    event.preventDefault()
    onCursor(movedDay(years, cursor, move))
  }
  return (
    <div
      ref={box}
      className="timeline day-calendar"
      tabIndex={0}
      role="group"
      aria-label={`Compaction calendar of ${dataSource}. Arrow keys move by a day or a week.`}
      onKeyDown={onKey}
    >
      {width > 0 &&
        years.map((year) => (
          <Year
            key={year.year}
            year={year}
            pitch={pitch}
            cursor={year.days.some(({ start }) => start === cursor) ? cursor : undefined}
            onCursor={onCursor}
          />
        ))}
      {years.length === maxYears && (
        <p className="hint">The newest {formatCount(maxYears)} years are shown.</p>
      )}
    </div>
  )
}

/** Returns the day that is some days after the selected one; first, the newest day with data. Stays within the years. */
function movedDay(years: readonly CalendarYear[], cursor: number | undefined, days: number): number {
  const newest = years[0]!.days.findLast(({ state }) => state !== 'none')!.start
  if (cursor === undefined) return newest
  const next = cursor + days * dayMs
  const first = years.at(-1)!.days[0]!.start
  const last = years[0]!.days.at(-1)!.start
  return Math.min(last, Math.max(first, next))
}

const Year = memo(function Year({
  year: { year, days },
  pitch,
  cursor,
  onCursor,
}: {
  readonly year: CalendarYear
  readonly pitch: number
  readonly cursor: number | undefined
  onCursor(day: number): void
}) {
  const onClick = (event: MouseEvent<SVGSVGElement>) => {
    const { left, top } = event.currentTarget.getBoundingClientRect()
    const week = Math.floor((event.clientX - left - labelWidth) / pitch)
    const weekday = Math.floor((event.clientY - top - axisHeight) / pitch)
    const day = days.find((one) => one.week === week && one.weekday === weekday)
    if (day) onCursor(day.start)
  }
  return (
    <svg
      width={labelWidth + weeks * pitch}
      height={axisHeight + 7 * pitch}
      onClick={onClick}
      aria-hidden="true"
    >
      <g className="axis">
        <text x={0} y={axisHeight + 11} className="year">
          {year}
        </text>
        {weekdays.map((name, weekday) => (
          <text
            key={weekday}
            x={labelWidth - 6}
            y={axisHeight + weekday * pitch + pitch / 2 + 4}
            textAnchor="end"
          >
            {name}
          </text>
        ))}
        {months.map((name, month) => (
          <text key={name} x={labelWidth + weekOf(days, Date.UTC(year, month)) * pitch} y={12}>
            {name}
          </text>
        ))}
      </g>
      <g className="cells" transform={`translate(${labelWidth},${axisHeight})`}>
        {days.map((day) => (
          <rect
            key={day.start}
            className={day.start === cursor ? `${kinds[day.state]} current` : kinds[day.state]}
            x={day.week * pitch + 1}
            y={day.weekday * pitch + 1}
            width={pitch - 2}
            height={pitch - 2}
            rx={2}
          >
            <title>{titleOf(day)}</title>
          </rect>
        ))}
      </g>
    </svg>
  )
})

/** Returns the first full week of a month, so that its name is above its days. */
function weekOf(days: readonly CalendarDay[], start: number): number {
  const day = days.find((one) => one.start === start)!
  return day.weekday === 0 ? day.week : day.week + 1
}
