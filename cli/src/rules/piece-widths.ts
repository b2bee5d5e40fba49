/** The number of characters for each section of a timeline. */
export interface PieceWidths {
  readonly widths: readonly number[]
  /** Whether every character covers the same time span. */
  readonly isToScale: boolean
}

// Narrower sections are easily overlooked.
const minToScale = 3

/**
 * Divides a line of characters among the sections between ascending edges. The result is to scale if that makes every
 * section visible. Otherwise each section gets at least `min` characters, or an equal number if there are too few, and
 * the rest is divided by length. If there are more sections than characters, the result is to scale, and the narrowest
 * sections get none.
 */
export function pieceWidths(edges: readonly number[], columns: number, min: number): PieceWidths {
  const pieces = edges.length - 1
  const even = widthsToScale(edges, columns)
  if (pieces > columns || even.every((width) => width >= minToScale)) return { widths: even, isToScale: true }
  const share = Math.min(min, Math.floor(columns / pieces))
  const more = widthsToScale(edges, columns - pieces * share)
  return { widths: more.map((width) => share + width), isToScale: false }
}

/** A character belongs to the section that contains its center. */
function widthsToScale(edges: readonly number[], columns: number): number[] {
  const first = edges[0]!
  const length = edges.at(-1)! - first
  const columnsBefore = edges.map((edge) => Math.ceil((columns * (edge - first)) / length - 0.5))
  return columnsBefore.slice(1).map((end, index) => end - columnsBefore[index]!)
}
