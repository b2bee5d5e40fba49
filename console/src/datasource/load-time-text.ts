import type { AnsweredLoadTime, AnsweredTierLoadTime } from '@svc/domain/load-time'

/** What is said about the time that loading takes. */
interface LoadTimeParts {
  /** Undefined if a tier was not measured. */
  readonly durationMs: number | undefined
  /** What limits the tiers that take longest. */
  readonly limits: readonly string[]
  readonly unmeasured: readonly string[]
}

/** Returns how long loading takes, what limits it, and the tiers for which that is unknown. */
export function loadTimeParts({
  durationMs,
  tiers,
}: Pick<AnsweredLoadTime, 'durationMs'> & {
  readonly tiers: Readonly<Record<string, Pick<AnsweredTierLoadTime, 'durationMs' | 'limitedBy'>>>
}): LoadTimeParts {
  const entries = Object.entries(tiers)
  return {
    durationMs: durationMs ?? undefined,
    limits: entries
      .filter(([, tier]) => tier.durationMs === durationMs)
      .map(([name, { limitedBy }]) =>
        limitedBy === 'servers' || limitedBy === null ? `the servers of ${name}` : `${limitedBy} in ${name}`,
      ),
    unmeasured: entries.filter(([, tier]) => tier.durationMs === null).map(([name]) => name),
  }
}
