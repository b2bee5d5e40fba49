/** The characters of a bar. */
export interface BarCharacters {
  readonly filled: string
  readonly empty: string
}

/** For terminals. */
export const solidBar: BarCharacters = { filled: '█', empty: '░' }

/** For plain text. */
export const plainBar: BarCharacters = { filled: '#', empty: '-' }

/** A bar of `width` characters. */
export function progressBar(fraction: number, width: number, { filled, empty }: BarCharacters): string {
  const count = Math.round(Math.min(Math.max(fraction, 0), 1) * width)
  return filled.repeat(count) + empty.repeat(width - count)
}
