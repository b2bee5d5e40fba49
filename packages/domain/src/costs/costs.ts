import type { Prices } from './prices.ts'

/** Bytes of all replicas in a tier, before and after a change. */
export interface TierBytes {
  readonly bytesBefore: number
  readonly bytesAfter: number
  /** At the end of a horizon; undefined without one. */
  readonly bytesLater?: number | undefined
}

/** What the replicas of a tier cost per month. */
export interface TierCosts {
  readonly tier: string
  readonly gibBefore: number
  readonly gibAfter: number
  /** Undefined if the tier has no price. */
  readonly price: number | undefined
  /** GiB at the end of the horizon; undefined without a horizon. */
  readonly gibLater: number | undefined
}

/** What replicas cost per month, before and after a change. */
export interface Costs {
  readonly currency: string | undefined
  /** Tiers with replicas before or after the change, or at the end of the horizon. */
  readonly tiers: readonly TierCosts[]
  readonly before: number
  readonly after: number
  /** At the end of the horizon; undefined without a horizon. */
  readonly later: number | undefined
}

const gib = 2 ** 30

/** Returns what the replicas in tiers cost. Tiers without a price cost nothing. */
export function costsOf(
  { currency, perGibMonth }: Prices,
  tiers: Readonly<Record<string, TierBytes>>,
): Costs {
  const rows = Object.entries(tiers)
    .map(
      ([tier, { bytesBefore, bytesAfter, bytesLater }]): TierCosts => ({
        tier,
        gibBefore: bytesBefore / gib,
        gibAfter: bytesAfter / gib,
        gibLater: bytesLater === undefined ? undefined : bytesLater / gib,
        price: Object.hasOwn(perGibMonth, tier) ? perGibMonth[tier] : undefined,
      }),
    )
    .filter(({ gibBefore, gibAfter, gibLater = 0 }) => gibBefore + gibAfter + gibLater > 0)
  const sum = (gibOf: (row: TierCosts) => number): number =>
    rows.reduce((total, row) => total + gibOf(row) * (row.price ?? 0), 0)
  const hasHorizon = Object.values(tiers).some(({ bytesLater }) => bytesLater !== undefined)
  return {
    currency,
    tiers: rows,
    before: sum(({ gibBefore }) => gibBefore),
    after: sum(({ gibAfter }) => gibAfter),
    later: hasHorizon ? sum(({ gibLater = 0 }) => gibLater) : undefined,
  }
}

/** Formats an amount of money with two decimals. */
export const formatCost = (amount: number): string => amount.toFixed(2)

/** Returns the difference between two amounts, with its sign. */
export function formatCostChange(before: number, after: number): string {
  const change = formatCost(after - before)
  if (Number(change) === 0) return '+0.00'
  return after > before ? `+${change}` : change
}
