import { formatInstant } from '../time/index.ts'
import type { AnsweredLaterLoss, AnsweredLaterLosses } from './answer.ts'
import { Course, type PreviewStep } from './course.ts'
import type { UnplacedOutcome } from './decide-outcome.ts'
import { effectsOnSegments, type LossName, lossNames, maxTiersListed } from './effect-names.ts'
import type { Horizon } from './future-steps.ts'
import type { CountedName, Losses } from './losses.ts'
import type { Tally } from './segments.ts'
import { SimulatedSteps } from './simulated-steps.ts'
import type { CopyTally } from './tallies.ts'

/** What is lost at the time of the preview. */
export type FirstLosses = Pick<PreviewStep, 'now' | 'tiers'> & {
  readonly losses: { readonly of: (name: LossName) => CopyTally }
}

/** What is lost at a later time. */
export type LossesAt = Pick<PreviewStep, 'now' | 'tiers'> & { readonly losses: Pick<Losses, 'of'> }

const hourMs = 3_600_000

/** The begin of a loss. */
interface Begin {
  /** Whether something is lost at a time. */
  readonly isIn: (step: LossesAt) => boolean
  /** Undefined until it is found. */
  at: number | undefined
}

/** When losses begin: when one is larger than at first, when other segments than at first are unqueryable, and when replicas do not fit in a tier. */
export class LossBegins {
  private readonly losses: ReadonlyMap<LossName, Begin>
  private readonly tiers: readonly Begin[]

  constructor(first: FirstLosses) {
    this.losses = new Map(
      lossNames.map((name): [LossName, Begin] => {
        const { copies } = first.losses.of(name)
        const isIn: Begin['isIn'] =
          name === 'unqueryable'
            ? ({ losses }) => losses.of('newlyUnqueryable').copies > 0
            : ({ losses }) => losses.of(name).copies > copies
        return [name, { isIn, at: undefined }]
      }),
    )
    this.tiers = first.tiers.map(({ doesNotFit }, tier) => ({
      isIn: ({ tiers }) => tiers[tier]!.doesNotFit.copies > 0,
      at: doesNotFit.copies > 0 ? first.now : undefined,
    }))
  }

  /** Returns when a loss becomes larger than at first; undefined if it never does. */
  ofLoss(name: LossName): number | undefined {
    return this.losses.get(name)!.at
  }

  /** Returns when replicas do not fit in a tier, given by index, for the first time; undefined if they always fit. */
  inTier(tier: number): number | undefined {
    return this.tiers[tier]!.at
  }

  /** Returns the begins that have not been found yet. */
  open(): Begin[] {
    return [...this.losses.values(), ...this.tiers].filter(({ at }) => at === undefined)
  }
}

/**
 * Decides the steps of a horizon, and when losses begin, to the hour. The steps may be a month apart, so this also decides
 * what happens if the coordinator runs between two of them. Bisection does not find losses that end before the next step, and may
 * find the second begin of a loss that begins twice between two steps. `foreseen` is what `foresee` returns for the horizon.
 * Yields regularly.
 */
export function* decideSteps(
  unplaced: UnplacedOutcome,
  horizon: Horizon,
  first: FirstLosses,
  foreseen: readonly PreviewStep[] | SimulatedSteps,
): Generator<undefined, { readonly steps: readonly PreviewStep[]; readonly begins: LossBegins }> {
  const { concerned, moments } = horizon
  const begins = new LossBegins(first)
  if (foreseen instanceof SimulatedSteps) {
    const course = new Course(unplaced, { concerned, simulated: foreseen })
    return { steps: yield* followCourse(course, moments, first.now, begins), begins }
  }
  const last = Math.max(-1, ...begins.open().map(({ isIn }) => foreseen.findIndex(isIn)))
  yield* followCourse(new Course(unplaced, { concerned }), moments.slice(0, last + 1), first.now, begins)
  return { steps: foreseen, begins }
}

/** Decides steps, and notes which losses begin. */
function* followCourse(
  course: Course,
  moments: readonly number[],
  start: number,
  begins: LossBegins,
): Generator<undefined, PreviewStep[]> {
  const steps: PreviewStep[] = []
  let from = start
  for (const now of moments) {
    const step = yield* course.advance(now)
    steps.push(step)
    const found = begins.open().filter(({ isIn }) => isIn(step))
    if (found.length > 0) {
      yield* course.back()
      const [first, last] = [Math.floor(from / hourMs) + 1, Math.ceil(now / hourMs)]
      yield* findBegins(course, found, { first, last, to: now })
      yield* course.advance(now)
    }
    course.forget()
    from = now
  }
  return steps
}

/** Candidates for begins: full hours, by number, and `to` in place of the last one. */
interface Candidates {
  readonly first: number
  readonly last: number
  readonly to: number
}

/**
 * Finds when some losses begin, by bisection. They occur at the last candidate, but not at the current time of the course.
 * They are searched together, so that the work hardly grows with their number: at each depth, the course goes from the
 * first to the last candidate at most once. Finally, it is where it was.
 */
function* findBegins(
  course: Course,
  begins: readonly Begin[],
  { first, last, to }: Candidates,
): Generator<undefined, void> {
  if (first >= last) {
    for (const begin of begins) begin.at = to
    return
  }
  const middle = Math.floor((first + last) / 2)
  const now = middle * hourMs
  const step = yield* course.advance(now)
  const early = begins.filter(({ isIn }) => isIn(step))
  const late = begins.filter((begin) => !early.includes(begin))
  if (late.length > 0) yield* findBegins(course, late, { first: middle + 1, last, to })
  yield* course.back()
  if (early.length > 0) yield* findBegins(course, early, { first, last: middle, to: now })
}

/** Returns the losses that grow after the preview, as JSON: when each begins, and the largest one at a step. */
export function formatLaterLosses(
  steps: readonly { readonly losses: Losses }[],
  first: FirstLosses['losses'],
  begins: LossBegins,
): AnsweredLaterLosses {
  const entries = lossNames.flatMap((name): [LossName, AnsweredLaterLoss][] => {
    const from = begins.ofLoss(name)
    if (from === undefined) return []
    const largest = largestOf(steps, name)
    const { segments, copies, bytes } = largest.of(name)
    const tiers = tiersOf(name, largest)
    return [
      [
        name,
        {
          from: formatInstant(from),
          segments,
          ...(effectsOnSegments.has(name) ? { added: addedSince(first, steps, name) } : { copies }),
          bytes,
          ...(tiers === undefined ? {} : { tiers: [...tiers].sort().slice(0, maxTiersListed) }),
        },
      ],
    ]
  })
  return Object.fromEntries(entries)
}

/** Returns what is lost at the step at which it is the most. */
const largestOf = (steps: readonly { readonly losses: Losses }[], name: CountedName): Losses =>
  steps
    .map(({ losses }) => losses)
    .reduce((found, losses) => (losses.of(name).copies > found.of(name).copies ? losses : found))

/** Returns the largest number of lost segments at a step that were not lost at first. Unused segments stay unused. */
function addedSince(
  first: FirstLosses['losses'],
  steps: readonly { readonly losses: Losses }[],
  name: LossName,
): Tally {
  if (name === 'unqueryable') {
    const { segments, bytes } = largestOf(steps, 'newlyUnqueryable').of('newlyUnqueryable')
    return { segments, bytes }
  }
  const [before, largest] = [first.of(name), largestOf(steps, name).of(name)]
  return { segments: largest.segments - before.segments, bytes: largest.bytes - before.bytes }
}

const tiersOf = (name: LossName, losses: Losses): ReadonlySet<string> | undefined =>
  name === 'doesNotFit' ? losses.fullTiers : name === 'waitingForTier' ? losses.waitingTiers : undefined
