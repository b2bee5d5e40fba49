import { boxPath } from '../box-path.ts'

/** What a cell of the map shows about a server. */
export interface MapCell {
  /** How full it is: 1 if its space is used up. */
  readonly fill: number
  /** Number of the color of its tier; undefined for servers without a tier. */
  readonly color: number | undefined
  readonly state: 'idle' | 'busy' | 'failing'
}

/** The size of cells and the space between them in pixels, and the number of cells in a row. */
interface MapLayout {
  readonly cell: number
  readonly gap: number
  readonly perRow: number
}

/** The cells that look the same, as the data of an SVG path. */
interface MapPath {
  readonly className: string
  readonly d: string
}

/** Returns the cells of a map as paths: first the grounds of the cells by state, then what is filled, by color. */
export function mapPaths(cells: readonly MapCell[], { cell, gap, perRow }: MapLayout): readonly MapPath[] {
  const paths = new Map<string, string[]>()
  const add = (className: string, d: string): void => {
    const known = paths.get(className)
    if (known) known.push(d)
    else paths.set(className, [d])
  }
  const place = (index: number): readonly [x: number, y: number] => [
    (index % perRow) * (cell + gap),
    Math.floor(index / perRow) * (cell + gap),
  ]
  for (const [index, { state }] of cells.entries()) {
    const [x, y] = place(index)
    add(`ground ${state}`, boxPath(x, y, cell, cell))
  }
  for (const [index, { fill, color }] of cells.entries()) {
    const [x, y] = place(index)
    const height = Math.round(cell * Math.min(1, fill))
    if (height > 0) add(`tier-${color ?? 'none'}`, boxPath(x, y + cell - height, cell, height))
  }
  return [...paths].map(([className, parts]) => ({ className, d: parts.join('') }))
}
