import { memo } from 'react'
import { labelGap, type MoveArrow } from './move-arrows.ts'

/** Height of one row of arrows, in pixels. */
export const moveRowHeight = 30
const stripHeight = 3
const headSize = 5

/** Which replicas move, as arrows from the color of the old tier to that of the new one. */
export const MoveLane = memo(function MoveLane({
  arrows,
  colors,
  top,
}: {
  readonly arrows: readonly MoveArrow[]
  readonly colors: ReadonlyMap<string, number>
  readonly top: number
}) {
  const tierClass = (tier: string | undefined): string =>
    `tier-${(tier === undefined ? undefined : colors.get(tier)) ?? 'none'}`
  return (
    <g className="moves">
      {arrows.map(({ move: { from, to }, left, right, middle, label, shownLabel, labelIsLeft, row }) => {
        const [first, last] = [top + row * moveRowHeight + 3, top + (row + 1) * moveRowHeight - 3]
        const tip = last - stripHeight
        return (
          <g key={label}>
            <title>{label}</title>
            <rect className={tierClass(from)} x={left} y={first} width={right - left} height={stripHeight} />
            <rect className={tierClass(to)} x={left} y={tip} width={right - left} height={stripHeight} />
            <line x1={middle} x2={middle} y1={first + stripHeight} y2={tip - headSize} />
            <path
              d={`M${middle - headSize},${tip - headSize}h${2 * headSize}L${middle},${tip}z`}
              className="head"
            />
            <text
              x={middle + (labelIsLeft ? -labelGap : labelGap)}
              y={(first + last) / 2 + 4}
              textAnchor={labelIsLeft ? 'end' : 'start'}
            >
              {shownLabel}
            </text>
          </g>
        )
      })}
    </g>
  )
})
