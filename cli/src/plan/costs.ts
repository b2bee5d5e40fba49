import type { Prices } from '../declared-state/index.ts'
import type { AnsweredPreview, PreviewDetail } from '../preview/index.ts'

/** What the replicas of a tier cost per month. */
interface TierCosts {
  readonly tier: string
  readonly gibBefore: number
  readonly gibAfter: number
  /** Undefined if the tier has no price. */
  readonly price: number | undefined
  /** GiB at the end of the horizon; undefined without a horizon. */
  readonly gibLater: number | undefined
}

/** What the replicas of a cluster cost per month, before and after a plan. */
export interface Costs {
  readonly currency: string | undefined
  readonly tiers: readonly TierCosts[]
  readonly before: number
  readonly after: number
  /** At the end of the horizon. */
  readonly later: number | undefined
  /** The end of the horizon. */
  readonly horizonEnd: string | undefined
}

const gib = 2 ** 30

/** Returns what the tiers of a cluster cost; undefined if the user may not read their sizes. */
export function costsOf(
  { currency, perGibMonth }: Prices,
  { summary: { tiers, steps } }: AnsweredPreview,
): Costs | undefined {
  if (tiers === undefined) return undefined
  const last = steps?.at(-1)
  const rows = Object.entries(tiers)
    .map(
      ([tier, { bytesBefore, bytesAfter }]): TierCosts => ({
        tier,
        gibBefore: bytesBefore / gib,
        gibAfter: bytesAfter / gib,
        gibLater: last?.tiers?.[tier] && last.tiers[tier].bytesAfter / gib,
        price: Object.hasOwn(perGibMonth, tier) ? perGibMonth[tier] : undefined,
      }),
    )
    .filter(({ gibBefore, gibAfter }) => gibBefore + gibAfter > 0)
  const sum = (gibOf: (row: TierCosts) => number): number =>
    rows.reduce((total, row) => total + gibOf(row) * (row.price ?? 0), 0)
  return {
    currency,
    tiers: rows,
    before: sum(({ gibBefore }) => gibBefore),
    after: sum(({ gibAfter }) => gibAfter),
    later: last && sum(({ gibLater = 0 }) => gibLater),
    horizonEnd: last?.now,
  }
}

/** The costs as a part of a report. */
export function costDetail({ currency, tiers, before, after, later, horizonEnd }: Costs): PreviewDetail {
  const per = currency === undefined ? 'per month' : `${currency} per month`
  const money = (amount: number | undefined): string => (amount === undefined ? '' : amount.toFixed(2))
  const change = (from: number, to: number): string => `${to >= from ? '+' : ''}${(to - from).toFixed(2)}`
  const rows = tiers
    .filter(({ price }) => price !== undefined)
    .map(({ tier, gibBefore, gibAfter, gibLater, price = 0 }) => [
      tier,
      gibBefore.toFixed(1),
      gibAfter.toFixed(1),
      money(gibBefore * price),
      money(gibAfter * price),
      change(gibBefore * price, gibAfter * price),
      gibLater === undefined ? '' : money(gibLater * price),
    ])
  const total = ['(all)', '', '', money(before), money(after), change(before, after), money(later)]
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
