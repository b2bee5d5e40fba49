import type { AnsweredEffects } from '@svc/domain/preview'
import { formatCount, formatList } from '@svc/domain/text'

type Copies = { readonly copies?: number }

/** The effects that say which replicas are missing. */
export type MissingEffects = Readonly<
  Record<keyof Pick<AnsweredEffects, 'doesNotFit' | 'waitingForTier' | 'underReplicated'>, Copies>
>

/**
 * Says how many required replicas servers will not load, and why, such as `12 do not fit and 3 are in tiers without servers`.
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
    waiting > 0 && `${formatCount(waiting)} ${waiting === 1 ? 'is' : 'are'} in tiers without servers`,
    beyondServers > 0 && `${formatCount(beyondServers)} would need more servers in their tiers`,
  ].filter((part) => part !== false)
  return parts.length === 0 ? undefined : formatList(parts)
}
