import { type AnsweredEffects, tiersText } from '@svc/domain/preview'
import { formatCount, formatList } from '@svc/domain/text'

type Copies = { readonly copies?: number }

/** The effects that say which replicas are missing. */
export type MissingEffects = Readonly<
  Record<keyof Pick<AnsweredEffects, 'doesNotFit' | 'underReplicated'>, Copies>
> & { readonly waitingForTier: Copies & { readonly tiers: readonly string[] } }

/**
 * Says how many required replicas servers will not load, and why, such as `12 do not fit and 3 wait for servers in tier [hot]`.
 * Returns undefined if there are none.
 */
export function missingReplicasText({
  doesNotFit,
  waitingForTier,
  underReplicated,
}: MissingEffects): string | undefined {
  const [unplaced, waiting, lacking] = [doesNotFit, waitingForTier, underReplicated].map(
    ({ copies = 0 }) => copies,
  ) as [number, number, number]
  const beyondServers = lacking - unplaced - waiting
  const parts = [
    unplaced > 0 && `${formatCount(unplaced)} ${unplaced === 1 ? 'does' : 'do'} not fit`,
    waiting > 0 &&
      `${formatCount(waiting)} ${waiting === 1 ? 'waits' : 'wait'} for servers in ${tiersText(waitingForTier.tiers)}`,
    beyondServers > 0 && `${formatCount(beyondServers)} would need more servers in their tiers`,
  ].filter((part) => part !== false)
  return parts.length === 0 ? undefined : formatList(parts)
}
