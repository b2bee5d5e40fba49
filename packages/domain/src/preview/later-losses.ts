import { dayMs, formatInstant } from '../time/index.ts'
import type { AnsweredLaterLoss, AnsweredLaterLosses } from './answer.ts'
import type { UnplacedOutcome } from './decide-outcome.ts'
import { effectsOnSegments, type LossName, lossNames, maxTiersListed } from './effect-names.ts'
import { decideSteps, type Horizon, type PreviewStep } from './future-steps.ts'
import type { Losses } from './losses.ts'

/** What is lost at one time. */
export type LossesAt = Pick<PreviewStep, 'now' | 'tiers'> & {
  readonly losses: Pick<Losses, 'of'>
}

const hourMs = 3_600_000

/** Lists of steps, from the shortest steps to those of the horizon itself. */
export type StepLists = readonly (readonly LossesAt[])[]

/**
 * Decides when losses begin. The steps of a horizon are up to a month apart, so this decides more steps where a loss
 * begins: each midnight, then each hour of the day. Rules and segments usually change at these times. Yields regularly.
 */
export function* shorterSteps(
  unplaced: UnplacedOutcome,
  horizon: Omit<Horizon, 'moments' | 'totalsOnly'>,
  first: LossesAt,
  steps: readonly LossesAt[],
): Generator<undefined, StepLists> {
  const lists = [steps]
  for (const widthMs of [dayMs, hourMs]) {
    const moments = momentsOfShorterSteps(first, lists[0]!, widthMs)
    if (moments.length > 0)
      lists.unshift(yield* decideSteps(unplaced, { ...horizon, moments, totalsOnly: true }))
  }
  return lists
}

/** Returns the first step that matches, as exactly as known. */
export function firstStep(lists: StepLists, isMatch: (step: LossesAt) => boolean): LossesAt | undefined {
  for (const steps of lists) {
    const found = steps.find(isMatch)
    if (found !== undefined) return found
  }
  return undefined
}

/** Returns the times of the steps until the last loss begins, with closer ones where losses begin; none if that changes nothing. */
function momentsOfShorterSteps(first: LossesAt, steps: readonly LossesAt[], widthMs: number): number[] {
  const begins = beginsIn(first, steps)
  const startOf = (index: number): number => (index === 0 ? first : steps[index - 1]!).now
  if (!begins.some((index) => steps[index]!.now - startOf(index) > widthMs)) return []
  const moments: number[] = []
  for (const [index, { now }] of steps.slice(0, Math.max(...begins) + 1).entries()) {
    if (begins.includes(index))
      for (let at = nextMultiple(startOf(index), widthMs); at < now; at += widthMs) moments.push(at)
    moments.push(now)
  }
  return moments
}

const nextMultiple = (instant: number, widthMs: number): number =>
  (Math.floor(instant / widthMs) + 1) * widthMs

/** Returns the steps, given by index, at which a loss is larger than at first, or a tier is full, for the first time. */
function beginsIn(first: LossesAt, steps: readonly LossesAt[]): number[] {
  const ofLosses = lossNames.map((name) =>
    steps.findIndex(({ losses }) => losses.of(name).copies > first.losses.of(name).copies),
  )
  const ofTiers = first.tiers.map(({ doesNotFit }, tier) =>
    doesNotFit.copies > 0 ? -1 : steps.findIndex(({ tiers }) => tiers[tier]!.doesNotFit.copies > 0),
  )
  return [...ofLosses, ...ofTiers].filter((index) => index >= 0)
}

/** Returns the losses that grow after the preview, as JSON: the largest loss at a step, and when more is affected than `now`. */
export function formatLaterLosses(
  now: Pick<Losses, 'of'>,
  steps: readonly { readonly losses: Losses }[],
  lists: StepLists,
): AnsweredLaterLosses {
  const entries = lossNames.flatMap((name): [LossName, AnsweredLaterLoss][] => {
    const isMore = ({ losses }: { readonly losses: Pick<Losses, 'of'> }): boolean =>
      losses.of(name).copies > now.of(name).copies
    const first = steps.find(isMore)
    if (first === undefined) return []
    const largest = steps.reduce(
      (found, { losses }) => (losses.of(name).copies > found.of(name).copies ? losses : found),
      first.losses,
    )
    const { segments, copies, bytes } = largest.of(name)
    const tiers = tiersOf(name, largest)
    return [
      [
        name,
        {
          from: formatInstant(firstStep(lists, isMore)!.now),
          segments,
          ...(effectsOnSegments.has(name) ? {} : { copies }),
          bytes,
          ...(tiers === undefined ? {} : { tiers: [...tiers].sort().slice(0, maxTiersListed) }),
        },
      ],
    ]
  })
  return Object.fromEntries(entries)
}

const tiersOf = (name: LossName, losses: Losses): ReadonlySet<string> | undefined =>
  name === 'doesNotFit' ? losses.fullTiers : name === 'waitingForTier' ? losses.waitingTiers : undefined
