import { byName, omittable, type Reader, readFields, readNumber, readShortText } from '../validation/index.ts'

/** What storage costs. Plans and the review of an edit show costs with it. */
export interface Prices {
  /** Such as `EUR`. */
  readonly currency: string | undefined
  /** The price of a GiB of replicas for a month, by tier. */
  readonly perGibMonth: Readonly<Record<string, number>>
}

const maxPrice = 1_000_000

/** Reads prices. Throws invalidInput if one is not a number of at least 0. */
export const readPrices: Reader<Prices> = readFields(
  { currency: omittable(readShortText(20)), perGibMonth: byName(readNumber(0, maxPrice)) },
  { expected: 'an object with [perGibMonth]' },
)
