import type { Entry, Outcome, Rest } from '../history.ts'
import type { Work, WorkStep } from '../schedule.ts'

/** A piece of work and its outcome. */
export interface Done {
  readonly step: WorkStep
  readonly work: Work
  readonly at: number
  /** When its answer arrived; Infinity if none did. */
  readonly answeredAt: number
  readonly outcome: Outcome
  readonly status: number | null
  readonly response: unknown
}

/** A history in the form that the checks use. */
export interface Story {
  readonly entries: readonly Entry[]
  readonly work: readonly Done[]
  readonly rest: Rest | undefined
}

/** Combines requests with their answers. */
export function readStory(entries: readonly Entry[]): Story {
  const answers = new Map(ofType(entries, 'answer').map((answer) => [answer.id, answer]))
  const work = ofType(entries, 'work').map(({ step, at }): Done => {
    const answer = answers.get(step.id)
    return {
      step,
      work: step.work,
      at,
      answeredAt: answer && answer.outcome !== 'unknown' ? answer.at : Number.POSITIVE_INFINITY,
      outcome: answer?.outcome ?? 'unknown',
      status: answer?.status ?? null,
      response: answer?.response,
    }
  })
  return {
    entries,
    work,
    rest: ofType(entries, 'rest').at(-1)?.rest,
  }
}

/** Returns the entries of one type. */
export function ofType<Type extends Entry['type']>(
  entries: readonly Entry[],
  type: Type,
): Extract<Entry, { type: Type }>[] {
  return entries.filter((entry): entry is Extract<Entry, { type: Type }> => entry.type === type)
}

/** Returns the work of some kinds. */
export const ofKind = <Kind extends Work['kind']>(story: Story, ...kinds: Kind[]) =>
  story.work.filter((done): done is Done & { work: Extract<Work, { kind: Kind }> } =>
    (kinds as string[]).includes(done.work.kind),
  )

/** Whether it was done, or its outcome is unknown. */
export const isPossiblyDone = ({ outcome }: Done): boolean => outcome !== 'refused'

/**
 * Returns the writes of one register that may be the current state: the last one that was done, and all with
 * an unknown outcome.
 */
export function possiblyLast<Some extends Done>(writes: readonly Some[]): Some[] {
  const lastDone = writes.findLast(({ outcome }) => outcome === 'done')
  return writes.filter((write) => write === lastDone || write.outcome === 'unknown')
}

/** Groups writes by what they write. */
export function byRegister<Some extends Done>(writes: readonly Some[]): Map<string, Some[]> {
  return Map.groupBy(writes, ({ step }) => step.register)
}
