import { described, type Reader } from './readers.ts'
import { refuse } from './refuse.ts'

const byteUnits: Readonly<Record<string, number>> = {
  '': 1,
  k: 1e3,
  m: 1e6,
  g: 1e9,
  t: 1e12,
  p: 1e15,
  ki: 2 ** 10,
  mi: 2 ** 20,
  gi: 2 ** 30,
  ti: 2 ** 40,
  pi: 2 ** 50,
}

/** Parses a size such as `10GiB`, `5 MiB`, or `100M`. Returns bytes, or undefined if the text is not a size. */
export function parseSizeBytes(text: string): number | undefined {
  const match = /^(\d+)\s*([kmgtp]?i?)(b?)$/i.exec(text.trim())
  if (match === null || (match[2] === '' && match[3] !== '')) return undefined
  const bytes = Number(match[1]) * (byteUnits[(match[2] as string).toLowerCase()] ?? Number.NaN)
  return Number.isSafeInteger(bytes) ? bytes : undefined
}

/** Reads a number of bytes: an integer, or a string with a unit. */
export const readSizeBytes: Reader<number> = described(
  { type: ['integer', 'string'], minimum: 0 },
  (json, field) => {
    const bytes = typeof json === 'string' ? parseSizeBytes(json) : json
    if (typeof bytes !== 'number' || !Number.isSafeInteger(bytes) || bytes < 0) {
      throw refuse(field, json, 'a number of bytes such as [10000000], [100M], or [10 MiB]')
    }
    return bytes
  },
)
