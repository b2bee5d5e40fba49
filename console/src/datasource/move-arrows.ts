import type { TierMove } from '@svc/domain/preview'
import { countOf, formatBytes } from '@svc/domain/text'
import { visible } from '../formats/index.ts'

/** An arrow of the timeline, in pixels: where on the time axis replicas leave one tier and appear in another. */
export interface MoveArrow {
  readonly move: TierMove
  /** The stretch of the time axis with the data that moves. */
  readonly left: number
  readonly right: number
  readonly middle: number
  readonly label: string
  /** The label, shortened if there is too little space on both sides. */
  readonly shownLabel: string
  readonly labelIsLeft: boolean
  /** Arrows that would overlap are in different rows. */
  readonly row: number
}

/** The arrows that have room, and the number of moves without one. */
export interface MoveArrows {
  readonly arrows: readonly MoveArrow[]
  readonly rows: number
  readonly hidden: number
}

const maxRows = 3
// The average width of a character in the font of the timeline.
const characterWidth = 6.3
const minWidth = 6
/** Space between an arrow and its label, in pixels. */
export const labelGap = 9

/** Returns what an arrow says: from which tier to which, and how much. */
const moveText = ({ from, to, copies, bytes }: TierMove): string =>
  `${from === undefined ? 'new' : visible(from)} → ${to === undefined ? 'dropped' : visible(to)}: ${countOf(copies, 'replica')}, ${formatBytes(bytes)}`

/** Places arrows on an axis of a width, the largest moves first. Moves outside the axis have none. */
export function moveArrows(
  moves: readonly TierMove[],
  xOf: (instantMs: number) => number,
  width: number,
): MoveArrows {
  const taken: [left: number, right: number][][] = []
  const arrows: MoveArrow[] = []
  // Data without a start or an end is drawn over the entire axis.
  const within = (instantMs: number): number =>
    Number.isFinite(instantMs) ? Math.min(width, Math.max(0, xOf(instantMs))) : instantMs < 0 ? 0 : width
  let hidden = 0
  for (const move of moves.toSorted((a, b) => b.bytes - a.bytes)) {
    const [start, end] = [within(move.interval.start), within(move.interval.end)]
    if (end <= start) continue
    const left = Math.max(0, Math.min(start, width - minWidth))
    const right = Math.max(end, left + minWidth)
    const middle = (left + right) / 2
    const label = moveText(move)
    const room = Math.floor((Math.max(middle, width - middle) - labelGap) / characterWidth)
    const shownLabel = label.length <= room ? label : `${label.slice(0, Math.max(0, room - 1))}…`
    const labelWidth = labelGap + shownLabel.length * characterWidth
    const labelIsLeft = middle + labelWidth > width
    const from = Math.min(left, labelIsLeft ? middle - labelWidth : left)
    const to = Math.max(right, labelIsLeft ? right : middle + labelWidth)
    const isFree = (spans: (typeof taken)[number]) => spans.every(([a, b]) => to < a || from > b)
    const free = taken.findIndex(isFree)
    const row = free === -1 ? taken.length : free
    if (row >= maxRows) {
      hidden += 1
      continue
    }
    taken[row] = [...(taken[row] ?? []), [from, to]]
    arrows.push({ move, left, right, middle, label, shownLabel, labelIsLeft, row })
  }
  return { arrows, rows: taken.length, hidden }
}
