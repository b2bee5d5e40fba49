import { type Prices, readPrices } from '@svc/domain/costs'
import { Failure } from '@svc/domain/failure'

/** Prices as they are typed. */
export interface PriceDraft {
  readonly currency: string
  readonly perGibMonth: Readonly<Record<string, string>>
}

/** No prices. */
export const noPrices: PriceDraft = { currency: '', perGibMonth: {} }

/** Returns typed prices as plan files contain them, or the first problem. Empty fields have no price. */
export function pricesOf({ currency, perGibMonth }: PriceDraft): Prices | { readonly problem: string } {
  const filled = Object.entries(perGibMonth).filter(([, text]) => text.trim() !== '')
  const numbers = filled.map(([tier, text]) => {
    const value = Number(text)
    return [tier, Number.isNaN(value) ? text : value] as const
  })
  const name = currency.trim()
  try {
    return readPrices(
      { ...(name === '' ? {} : { currency: name }), perGibMonth: Object.fromEntries(numbers) },
      'prices',
    )
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return { problem: error.message }
  }
}
