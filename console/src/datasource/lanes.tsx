import type { ScaleTime } from 'd3-scale'
import { memo } from 'react'
import type { LaneCell } from './lane-cell.ts'

/** A band of the time axis in which one rule applies. */
export interface BandRule {
  readonly start: number
  readonly end: number
  readonly label: string
  /** Color of the first tier; undefined for a rule that drops. */
  readonly color: number | undefined
  readonly isDrop: boolean
  readonly isDefault: boolean
}

// The average width of a character in the font of the bands.
const characterWidth = 6.4

/** Which rule applies when. */
export const BandLane = memo(function BandLane({
  bands,
  scale,
  top,
  isFuture = false,
}: {
  readonly bands: readonly BandRule[]
  readonly scale: ScaleTime<number, number>
  readonly top: number
  readonly isFuture?: boolean
}) {
  return (
    <g className={isFuture ? 'bands future' : 'bands'}>
      {bands.map(({ start, end, label, color, isDrop, isDefault }) => {
        const x = scale(start)
        const width = Math.max(1, scale(end) - x - 1)
        const room = Math.floor((width - 10) / characterWidth)
        const text = label.length <= room ? label : room > 3 ? `${label.slice(0, room - 1)}…` : ''
        const kind = isDrop ? 'drop' : `tier-${color ?? 'none'}`
        return (
          <g key={`${start}`} className={isDefault ? 'default' : ''}>
            <title>{label}</title>
            <rect className={kind} x={x + 0.5} y={top + 2} width={width} height={20} rx={3} />
            <text x={x + 6} y={top + 16}>
              {text}
            </text>
          </g>
        )
      })}
    </g>
  )
})

/** One state for each bucket, such as whether its segments are served. */
export const CellLane = memo(function CellLane({
  cells,
  xOf,
  top,
}: {
  readonly cells: readonly LaneCell[]
  xOf(bucket: number): number
  readonly top: number
}) {
  return (
    <g className="cells">
      {cells.map(({ from, to, kind }) => (
        <rect
          key={from}
          className={kind}
          x={xOf(from)}
          y={top + 3}
          width={Math.max(1, xOf(to) - xOf(from) - (xOf(1) - xOf(0) > 5 ? 1 : 0))}
          height={11}
          rx={2}
          fill={kind === 'partial' ? 'url(#partial)' : undefined}
        />
      ))}
    </g>
  )
})
