import { invalidInput } from '@svc/domain/failure'
import type { RuleJson } from '@svc/domain/rules'
import { importAuthor } from '@svc/domain/snapshot'
import { refuse } from '@svc/domain/validation'
import { type ClusterClient, unsupportedByDruid } from '../client/index.ts'
import { countOf } from '../terminal/index.ts'
import { rulesBody } from './rules-body.ts'
import type { RulesChange } from './rules-table.ts'
import { rulesPath } from './set-rules.ts'

/** Maximum number of changes to read: enough for years, and few enough for one response. */
export const maxRevertedChanges = 1000

type IdentifiedChange = RulesChange & { readonly id: number }

/** The rules to restore. */
export interface Reversion {
  readonly rules: readonly RuleJson[]
  /** The first of the changes that this undoes. */
  readonly first: IdentifiedChange
  /** The change whose rules this restores, `first` for those before all changes; undefined to undo only the newest. */
  readonly target: IdentifiedChange | 'first' | undefined
}

/** Throws forbidden for a Druid cluster, which does not store which segments a change marked as unused. */
export function checkCanRevert({ interfaceName, routerUrl }: ClusterClient): void {
  if (interfaceName === 'druid')
    throw unsupportedByDruid(
      routerUrl,
      'To undo changes that ./svc apply made there, use ./svc apply --revert with the ID or file of the plan.',
    )
}

/**
 * Returns what to restore to undo all changes after the one with the ID `to` (0: all of them), or only the newest if it is
 * undefined. `changes` are the newest `maxRevertedChanges`, newest first. Throws invalidInput if they do not have the
 * change or its rules, or if the newest change is itself a revert and `to` is undefined.
 */
export function reversionOf(
  dataSource: string,
  changes: readonly RulesChange[],
  to: number | undefined,
): Reversion {
  const known = changes.filter((change): change is IdentifiedChange => change.id !== undefined)
  const newest = known[0]
  if (newest === undefined) throw invalidInput(`The rules of [${dataSource}] have never been changed`)
  if (to !== undefined && to !== 0 && !known.slice(1).some(({ id }) => id === to)) {
    throw refuse(
      '--to',
      to,
      `the ID of an earlier change to the rules of [${dataSource}], as listed by ./svc rules history, or 0 for the rules before the first change`,
    )
  }
  if (to === 0 && changes.length >= maxRevertedChanges) {
    throw invalidInput(
      `The rules of [${dataSource}] have changed at least [${maxRevertedChanges}] times, and svc cannot undo that many changes at once. Use --to with an ID listed by ./svc rules history`,
    )
  }
  if (to === undefined) refuseToRedo(known)
  const first = to === undefined ? newest : known.findLast(({ id }) => id > to)!
  if (isImport(first)) throw nothingBeforeImport(dataSource, first, first === newest)
  const target = to === undefined ? undefined : (known.find(({ id }) => id === to) ?? 'first')
  const rules = first.replaced ?? known[known.indexOf(first) + 1]?.payload
  if (rules === undefined)
    throw invalidInput(
      `The history does not contain the rules of [${dataSource}] from before change [${first.id}]`,
    )
  return { rules: JSON.parse(rules) as RuleJson[], first, target }
}

const isImport = ({ auditInfo }: RulesChange): boolean =>
  auditInfo.author === importAuthor && auditInfo.identity === ''

/** The rules of an imported cluster begin with the import: before, there were none at all. */
const nothingBeforeImport = (dataSource: string, { id }: IdentifiedChange, isNewest: boolean) =>
  invalidInput(
    `Change [${id}] is the import of the rules of [${dataSource}], so there are no earlier rules to restore${isNewest ? '' : `. To undo all changes since the import, use --to ${id}`}`,
  )

/** Throws invalidInput if the newest change is a revert: to undo it would apply what it has undone. */
function refuseToRedo([newest, undone]: readonly IdentifiedChange[]): void {
  if (newest === undefined || undone === undefined || !isRevert.test(newest.auditInfo.comment)) return
  throw invalidInput(
    `Change [${newest.id}] is a revert, and undoing it would apply change [${undone.id}] again. To do that, use --to ${undone.id}. To go further back, use --to with an earlier ID listed by ./svc rules history`,
  )
}

/** The body of a preview that restores rules, and marks as used what changes since then marked as unused. */
export function reversionRequest(dataSource: string, { rules, first }: Reversion): Record<string, unknown> {
  return { ...rulesBody(dataSource, rules), markUsedSince: first.id }
}

/** Throws a Failure if the cluster is Druid, which does not record why segments are unused. */
export function checkCanMarkUsed({ interfaceName }: Pick<ClusterClient, 'interfaceName'>): void {
  if (interfaceName === 'druid')
    throw invalidInput(
      'Druid does not record why segments are unused. To mark segments as used, run ./svc mark-used',
    )
}

/**
 * Marks segments as used that drop rules marked as unused since a change to the rules (0: since the first), and that the
 * rules keep now. Returns how many.
 */
export async function markKeptUsed(
  client: ClusterClient,
  dataSource: string,
  since: number,
  headers: Readonly<Record<string, string>>,
): Promise<number> {
  let marked = 0
  let next: string | null = null
  do {
    const after: string = next === null ? '' : `&after=${encodeURIComponent(next)}`
    const path = `${rulesPath(dataSource)}/markUsed?since=${since}${after}`
    const answer = (await client.send('POST', path, undefined, headers)) as {
      readonly numChangedSegments: number
      readonly next: string | null
    }
    marked += answer.numChangedSegments
    next = answer.next
  } while (next !== null)
  return marked
}

/** What a revert did, in sentences. */
export function revertedText(
  dataSource: string,
  { first, target }: Reversion,
  { marked, killed }: { readonly marked: number; readonly killed: number },
): string {
  const sentences = [restoredText(dataSource, { first, target }), markedText(marked)]
  if (killed > 0)
    sentences.push(
      `${countOf(killed, 'segment')} cannot be restored: kill tasks have deleted ${killed === 1 ? 'it' : 'them'}.`,
    )
  return sentences.join(' ')
}

function restoredText(dataSource: string, { first, target }: Pick<Reversion, 'first' | 'target'>): string {
  if (target === undefined)
    return `Undid change [${first.id}] (${first.auditTime}) to the rules of [${dataSource}].`
  const since =
    target === 'first' ? 'before the first change' : `of change [${target.id}] (${target.auditTime})`
  return `Restored the rules of [${dataSource}] to those ${since}.`
}

/** The comment for the audit history. Its beginning shows that the change is a revert. */
export function reversionComment({ first, target }: Reversion, comment: string | undefined): string {
  const what =
    target === undefined
      ? `Reverted change ${first.id}`
      : `Restored the rules ${target === 'first' ? 'from before the first change' : `of change ${target.id}`}`
  return comment === undefined ? what : `${what}: ${comment}`
}

const isRevert = /^(Reverted change \d+|Restored the rules (of change \d+|from before the first change))\b/

/** How many segments were marked as used, in a sentence. */
export function markedText(marked: number): string {
  return `Marked ${countOf(marked, 'segment')} as used.`
}
