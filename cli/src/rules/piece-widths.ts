/** How many characters each piece of a picture of time gets. */
export interface PieceWidths {
  readonly widths: readonly number[]
  /** Whether every character stands for the same time. */
  readonly isToScale: boolean
}

// Fewer characters are overlooked.
const leastToScale = 3

/**
 * Divides a line of characters among the pieces between edges, which rise. It is to scale where every piece can
 * be seen so; otherwise each gets at least `least`, or as many as all can get alike, and shares in the rest by its length.
 * More pieces than characters are to scale, and the narrowest get none.
 */
export function pieceWidths(edges: readonly number[], columns: number, least: number): PieceWidths {
  const pieces = edges.length - 1
  const even = widthsToScale(edges, columns)
  if (pieces > columns || even.every((width) => width >= leastToScale))
    return { widths: even, isToScale: true }
  const share = Math.min(least, Math.floor(columns / pieces))
  const more = widthsToScale(edges, columns - pieces * share)
  return { widths: more.map((width) => share + width), isToScale: false }
}

/** A character belongs to the piece in which its middle lies. */
function widthsToScale(edges: readonly number[], columns: number): number[] {
  const first = edges[0]!
  const length = edges.at(-1)! - first
  const columnsBefore = edges.map((edge) => Math.ceil((columns * (edge - first)) / length - 0.5))
  return columnsBefore.slice(1).map((end, index) => end - columnsBefore[index]!)
}
