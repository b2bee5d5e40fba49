import {
  type Costs as CostsOfTiers,
  costsOf,
  formatCost,
  formatCostChange,
  type Prices,
} from '@svc/domain/costs'
import type { AnsweredPreview, PreviewDetail } from '../preview/index.ts'

/** What the replicas of a cluster cost per month, before and after a plan. */
export interface Costs extends CostsOfTiers {
  /** The end of the horizon. */
  readonly horizonEnd: string | undefined
}

/** Returns what the tiers of a cluster cost; undefined if the user may not read their sizes. */
export function costsOfPreview(
  prices: Prices,
  { summary: { tiers, steps } }: AnsweredPreview,
): Costs | undefined {
  if (tiers === undefined) return undefined
  const last = steps?.at(-1)
  const withLater = Object.entries(tiers).map(([tier, bytes]) => [
    tier,
    { ...bytes, bytesLater: last && (last.tiers?.[tier]?.bytesAfter ?? 0) },
  ])
  return { ...costsOf(prices, Object.fromEntries(withLater)), horizonEnd: last?.now }
}

/** The costs as a part of a report. */
export function costDetail({ currency, tiers, before, after, later, horizonEnd }: Costs): PreviewDetail {
  const per = currency === undefined ? 'per month' : `${currency} per month`
  const money = (amount: number | undefined): string => (amount === undefined ? '' : formatCost(amount))
  const rows = tiers
    .filter(({ price }) => price !== undefined)
    .map(({ tier, gibBefore, gibAfter, gibLater, price = 0 }) => [
      tier,
      gibBefore.toFixed(1),
      gibAfter.toFixed(1),
      money(gibBefore * price),
      money(gibAfter * price),
      formatCostChange(gibBefore * price, gibAfter * price),
      gibLater === undefined ? '' : money(gibLater * price),
    ])
  const total = ['(all)', '', '', money(before), money(after), formatCostChange(before, after), money(later)]
  const end = horizonEnd?.split('T')[0]
  const unpriced = tiers.filter(({ price }) => price === undefined).map(({ tier }) => tier)
  return {
    heading: 'Costs',
    table: {
      header: [
        'tier',
        'GiB before',
        'after',
        `${per} before`,
        'after',
        'change',
        end === undefined ? '' : `on ${end}`,
      ],
      rows: rows.length === 0 ? [] : [...rows, total],
    },
    notes: unpriced.map((tier) => `Tier [${tier}] has no price`),
  }
}
