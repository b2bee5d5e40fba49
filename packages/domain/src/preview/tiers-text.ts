import { maxTiersListed } from './effect-names.ts'

/** Names the tiers of a loss in an answer, of which only the first ones are listed, for example `tier [hot]`. */
export function tiersText(tiers: readonly string[]): string {
  const things = tiers.length === 1 ? 'tier' : tiers.length < maxTiersListed ? 'tiers' : 'tiers such as'
  return `${things} [${tiers.join(', ')}]`
}
