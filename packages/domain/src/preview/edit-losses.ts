import { Affected } from './affected.ts'
import type { AnsweredEffects } from './answer.ts'
import type { DatasourceOutcome } from './datasource-outcome.ts'
import { type Outcome, outcomeOf } from './decide-outcome.ts'

/** Segments that are unqueryable or unused after a change. */
export type LostSegments = Pick<AnsweredEffects, 'unqueryable' | 'unused'>

/** What an edit of the rules of a datasource loses, compared with the rules before it at the same time. */
export interface EditLosses {
  /** What only the edited rules lose. */
  readonly added: LostSegments
  /** What the rules before the edit lose, too. */
  readonly anyway: LostSegments
}

// Number of pieces between two pauses.
const slice = 4096

/** Compares what a datasource loses with edited rules and with the rules before the edit. Yields regularly. */
export function* editLossesOf(
  edited: Outcome,
  before: Outcome,
  dataSource: string,
): Generator<undefined, EditLosses> {
  const [added, anyway] = [new Lost(), new Lost()]
  const [one, other] = [edited, before].map((outcome) => outcomeOf(outcome, dataSource))
  if (one && other) yield* addLosses(one, other, added, anyway)
  return { added: added.format(), anyway: anyway.format() }
}

function* addLosses(
  { columns, pieces }: DatasourceOutcome,
  before: DatasourceOutcome,
  added: Lost,
  anyway: Lost,
): Generator<undefined, void> {
  let [from, at, other] = [0, 0, 0]
  while (from < columns.count) {
    if ((at + other) % slice === 0) yield
    const [end, otherEnd] = [pieces.ends[at]!, before.pieces.ends[other]!]
    const to = Math.min(end, otherEnd)
    const change = pieces.changes[pieces.changeAt[at]!]!
    const changeBefore = before.pieces.changes[before.pieces.changeAt[other]!]!
    if (change.after === 0) {
      const lost = changeBefore.after === 0 ? anyway : added
      lost.unqueryable.addPositions(columns, from, to, 1)
      if (change.before > 0) lost.queryableBefore += to - from
    }
    if (change.target.action === 'drop')
      (changeBefore.target.action === 'drop' ? anyway : added).unused.addPositions(columns, from, to, 1)
    if (end === to) at += 1
    if (otherEnd === to) other += 1
    from = to
  }
}

class Lost {
  readonly unqueryable = new Affected()
  readonly unused = new Affected()
  /** Number of unqueryable segments that have a replica before the change. */
  queryableBefore = 0

  format(): LostSegments {
    const { unqueryable, unused, queryableBefore } = this
    return { unqueryable: { ...unqueryable.format(false), queryableBefore }, unused: unused.format(false) }
  }
}
