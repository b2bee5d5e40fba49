import { allowedPasswords, isAllowedPassword } from '@svc/domain/access'
import { describeError, Failure, forbidden, invalidInput } from '@svc/domain/failure'
import { escapeControlCharacters } from '@svc/domain/validation'
import type { ClusterClient } from '../client/index.ts'
import {
  type Change,
  differ,
  fieldAt,
  grownLosses,
  isField,
  keyOf,
  type Plan,
  progressOf,
  readLogin,
  stateOfPlan,
} from '../declared-state/index.ts'
import {
  assertMayWrite,
  assertReadable,
  changedMeanwhile,
  readLiveState,
  readVersioned,
  type VersionedValue,
  type WriteContext,
  watchHistory,
  writeEntry,
  writeFields,
} from '../live-state/index.ts'
import type { AnsweredPreview, PreviewRules } from '../preview/index.ts'
import { readRegularFile } from '../regular-files/index.ts'
import { countOf } from '../terminal/index.ts'
import { type DeclaredFiles, orderOf, type PreviewScope, previewOf } from './make-plan.ts'
import { warningsOfPlan } from './plan-warnings.ts'
import { lossesOf } from './rules-effects.ts'
import type { Phase, Step } from './safe-order.ts'
import { assertSameCluster } from './same-cluster.ts'

/** What remains to be done of a plan. */
export interface RemainingSteps {
  readonly steps: readonly Step[]
  /** Changes that were applied before. */
  readonly done: number
  /** The preview of the rules that remain to be changed; undefined if there are none. */
  readonly preview: AnsweredPreview | undefined
  readonly warnings: readonly string[]
  /** Whether rules were changed before, so that servers may not have loaded everything yet. */
  readonly rulesChanged: boolean
}

/**
 * Compares a plan with the cluster as it is now, and plans its remaining changes again. Throws forbidden if the configuration
 * was changed since the plan was made, or if more data would be lost than planned.
 */
export async function remainingSteps(
  client: ClusterClient,
  plan: Plan,
  preview: PreviewRules,
  scope: PreviewScope = {},
): Promise<RemainingSteps> {
  await assertSameCluster(plan, client)
  const live = await readLiveState(client, new Set(plan.changes.map((change) => change.path[0]!)))
  await assertReadable(client, live, plan.changes)
  const { open, conflicts } = stateOfPlan(plan, live)
  if (conflicts.length > 0)
    throw forbidden(
      `Parts of the configuration were changed after plan [${plan.id}] was created: [${escapeControlCharacters(conflicts.join('], ['))}]. Create a new plan.`,
    )
  const answer = await previewOf(open, preview, scope)
  const grown = answer === undefined ? [] : grownLosses(plan.losses, lossesOf(answer))
  if (grown.length > 0)
    throw forbidden(
      `More data would be lost than plan [${plan.id}] shows: ${grown.join('; ')}. Create a new plan.`,
    )
  const steps = await orderOf(open, answer, preview)
  return {
    steps,
    done: plan.changes.length - open.length,
    preview: answer,
    warnings: warningsOfPlan(open, answer),
    rulesChanged: rulesIn(plan.changes) > rulesIn(open),
  }
}

const rulesIn = (changes: readonly Change[]): number => changes.filter(({ kind }) => kind === 'rules').length

/** What happens while a plan is applied. */
export interface ApplyEvents {
  readonly signal: AbortSignal
  /** A change was applied, or had been applied by someone else. */
  readonly onApplied: (change: Change) => void
  /** A value of someone else, from between the read and the write, was overwritten. Only in Druid, which cannot refuse this. */
  readonly onOverwritten: (change: Change, value: unknown) => void
  /**
   * Waits until servers have loaded what the rules require so far. Returns the steps that remain then; undefined if they are
   * the same. Throws a Failure if they must not be applied anymore.
   */
  readonly untilLoaded: (next: Phase) => Promise<readonly Step[] | undefined>
}

/** Applies steps. Throws forbidden, with what was applied, if someone else changes the same entries in the meantime. */
export async function applySteps(
  context: WriteContext,
  { steps: planned, rulesChanged }: Pick<RemainingSteps, 'steps' | 'rulesChanged'>,
  events: ApplyEvents,
): Promise<void> {
  const changes = planned.flatMap((step) => step.changes)
  await assertMayWrite(context, changes)
  let applied = 0
  let mustWait = rulesChanged
  let steps = planned
  for (let [step] = steps; step !== undefined; [step] = steps) {
    const isForRules = isRulesPhase(step.phase)
    if (mustWait && isForRules) {
      mustWait = false
      steps = (await events.untilLoaded(step.phase)) ?? steps
      continue
    }
    for (const unit of unitsOf(step.changes)) {
      events.signal.throwIfAborted()
      await applyUnit(context, unit, events).catch((error: unknown) => {
        if (!(error instanceof Failure) || error.code !== 'conflict') throw error
        throw forbidden(
          `${error.message.replace(/\.$/, '')}. Applied ${applied} of ${countOf(changes.length, 'change')}. Create a new plan.`,
        )
      })
      for (const change of unit) {
        applied += 1
        events.onApplied(change)
      }
    }
    mustWait ||= isForRules
    steps = steps.slice(1)
  }
}

/** Applies changes that are made in one request. Each follows a fresh read. Throws conflict if a value has changed since. */
async function applyUnit(
  context: WriteContext,
  unit: readonly Change[],
  { onOverwritten }: ApplyEvents,
): Promise<void> {
  const { client } = context
  // What others write before the read is read; what they write later is in the history.
  const finishWatch = await watchHistory(client, unit)
  const open = new Map<Change, VersionedValue>()
  let version: string | undefined
  for (const change of unit) {
    const present = await readVersioned(client, change.kind, change.path)
    // All fields of a configuration have the version of the first read, so that no later change is overwritten.
    version ??= present.version
    const progress = progressOf(change, present.value)
    if (progress === 'conflict') throw changedMeanwhile(change.path)
    if (progress === 'open') open.set(change, present)
  }
  const [first] = open
  if (first === undefined) return
  if (isField(first[0])) await writeFields(context, [...open.keys()], version)
  else await writeEntry(context, ...first)
  const valuesOf = await finishWatch()
  for (const [change, { value: present }] of open)
    for (const value of overwrittenBy(change, present, valuesOf(change))) onOverwritten(change, value)
}

/** Returns the values, of those since the read, that a change has overwritten. */
function overwrittenBy(
  { kind, path, after }: Change,
  present: unknown,
  values: readonly unknown[],
): readonly unknown[] {
  const isOther = (value: unknown, known: unknown): boolean => differ(kind, path.at(-1)!, value, known)
  const own = values.findLastIndex((value) => !isOther(value, after))
  const earlier = own === -1 ? values : values.slice(0, own)
  return earlier.filter((value) => isOther(value, present) && isOther(value, after))
}

const isRulesPhase = (phase: Phase): boolean =>
  phase === 'additions' || phase === 'moves' || phase === 'losses'

/** Changes that are applied in one request: the fields of one configuration, or one entry. */
function unitsOf(changes: readonly Change[]): Change[][] {
  const units = new Map<string, Change[]>()
  for (const change of changes) {
    const key = isField(change) ? change.kind : keyOf(change.path)
    const unit = units.get(key)
    if (unit === undefined) units.set(key, [change])
    else unit.push(change)
  }
  return [...units.values()]
}

/** Returns file, line, and column of the password of a change, for the start of a message; empty for a change without a file. */
export function placeOfPassword(
  { files, declared: { origins } }: DeclaredFiles,
  { path }: Pick<Change, 'path'>,
): string {
  const source = origins.get(keyOf(path))?.source
  const file = files.find((one) => one.source === source)
  return file === undefined ? '' : `${file.source}:${file.position(`${fieldAt(path)}.password`)}: `
}

/**
 * Reads the passwords of new users. `placeOf` returns the start of the message about a change. Throws invalidInput if one cannot be read, or if a cluster with this minimum length would
 * refuse it, so that nothing is applied.
 */
export function readPasswords(
  steps: readonly Step[],
  environment: Readonly<Record<string, string | undefined>>,
  minLength: number,
  placeOf: (change: Change) => string = () => '',
): WriteContext['passwordOf'] {
  const passwords = new Map<string, string>()
  for (const change of steps.flatMap((step) => step.changes)) {
    if (change.kind !== 'logins' || change.after === undefined) continue
    const { password } = readLogin(change.after, '')
    if (password === undefined) continue
    const subject = `password for [${fieldAt(change.path)}]`
    const [text, place] =
      password.file === undefined
        ? [environment[password.environment!], `the environment variable [${password.environment}]`]
        : [passwordInFile(password.file, placeOf(change), subject), `the file [${password.file}]`]
    if (text === undefined || text === '')
      throw invalidInput(`${placeOf(change)}Missing ${subject}: expected a password in ${place}`)
    if (!isAllowedPassword(text, minLength))
      throw invalidInput(
        `${placeOf(change)}Invalid ${subject} in ${place} ([${text.length}] characters): expected ${allowedPasswords(minLength)}`,
      )
    passwords.set(keyOf(change.path), text)
  }
  return ({ path }) => passwords.get(keyOf(path))
}

function passwordInFile(file: string, start: string, subject: string): string {
  try {
    return readRegularFile(file)
      .toString('utf8')
      .replace(/\r?\n$/, '')
  } catch (error) {
    throw invalidInput(`${start}Failed to read the ${subject} in [${file}]: ${describeError(error)}`)
  }
}
