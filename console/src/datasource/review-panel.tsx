import type { LostSegments } from '@svc/domain/preview'
import type { RuleJson } from '@svc/domain/rules'
import { countOf, formatBytes, formatCount } from '@svc/domain/text'
import { useMemo, useState } from 'react'
import { useCaller, useLastRuleChange, useUnusedSegments } from '../cluster/index.ts'
import { hasCluster, useSession } from '../session/index.ts'
import {
  ChangedByOther,
  CopyButton,
  capitalized,
  Discarded,
  formatDays,
  isTypedName,
  Name,
  Notice,
  Outcome,
  Problem,
  visible,
} from '../ui/index.ts'
import type { PreviewView } from '../web-worker/index.ts'
import { CostsOfEdit } from './costs.tsx'
import { curlOf } from './curl.ts'
import { LoadTime } from './load-time.tsx'
import { missingReplicasText } from './missing-replicas.ts'
import { ReviewTitle, SavePlanButton } from './plan-buttons.tsx'
import { returningSegments } from './returning-segments.ts'
import { RuleDifferences } from './rule-changes.tsx'
import { type ChangeNote, sameRules } from './rules-draft.ts'
import { linkToRules } from './rules-link.ts'
import { type Marking, useApply } from './use-apply.ts'
import type { RulesEdit } from './use-rules-edit.ts'
import { useStoredByOther } from './use-stored-by-other.ts'

interface ReviewInput {
  readonly dataSource: string
  readonly edit: RulesEdit
  /** The rules that are stored now. */
  readonly stored: readonly RuleJson[]
  readonly defaults: readonly RuleJson[]
  /** The time of the cluster, even in a preview of the future. */
  readonly now: number
  readonly view: PreviewView
  readonly isValid: boolean
  /** Whether the view is that of an earlier edit. */
  readonly isOutdated: boolean
  readonly isFuture: boolean
  readonly colors: ReadonlyMap<string, number>
}

// Maximum number of warnings to show.
const maxWarnings = 5

/** What the edit does in numbers, what is lost, and the buttons to apply or discard it. */
export function ReviewPanel(input: ReviewInput) {
  const { dataSource, edit, stored, view, colors } = input
  const apply = useApply(dataSource, edit, stored)
  const warnings = view.answer.warnings.filter(
    ({ type }) => type !== 'dataBecomesUnused' && type !== 'doesNotFit',
  )
  const isStoredByOther = useStoredByOther(edit, stored, apply.isBusy)
  const isChangedByOther = edit.isEdited && !sameRules(edit.base, stored)
  return (
    <section aria-labelledby="review-title" className="review-drawer">
      <ReviewTitle
        title={edit.isEdited ? 'Review' : 'State'}
        dataSource={dataSource}
        edit={edit}
        stored={stored}
      />
      {!edit.isEdited && <Loss effects={view.answer.summary.effects} />}
      {edit.isEdited && input.isValid && <LoadTime dataSource={dataSource} rules={edit.list} />}
      {edit.isEdited && <CostsOfEdit dataSource={dataSource} view={view} colors={colors} />}
      {edit.isEdited && input.isValid && <ReturningSegments input={input} />}
      {warnings.slice(0, maxWarnings).map(({ message }) => (
        <Notice key={message} kind="warning">
          {sentence(message, dataSource)}
        </Notice>
      ))}
      {warnings.length > maxWarnings && (
        <p className="hint">{countOf(warnings.length - maxWarnings, 'more warning')}.</p>
      )}
      {edit.isEdited ? (
        <ApplyForm input={input} isChangedByOther={isChangedByOther} apply={apply} />
      ) : (
        <>
          {isStoredByOther && (
            <Notice kind="done">These rules are already stored, so your edit has ended.</Notice>
          )}
          <LastChange apply={apply} view={view} isFuture={input.isFuture} />
          {edit.canRestore && <Discarded onRestore={() => edit.step({ kind: 'restore' })} />}
        </>
      )}
    </section>
  )
}

/** How many unused segments the edit keeps that the stored rules drop. Applying it does not mark them as used. */
function ReturningSegments({ input }: { readonly input: ReviewInput }) {
  const { dataSource, edit, stored, defaults, now } = input
  const { data: unused } = useUnusedSegments(dataSource)
  const { segments, bytes } = useMemo(() => {
    const rules = { stored: { own: stored, defaults }, edited: { own: edit.list, defaults }, now }
    return returningSegments(unused ?? [], rules)
  }, [unused, stored, defaults, edit.list, now])
  if (segments === 0) return null
  return (
    <p className="hint">
      These rules also keep {countOf(segments, 'unused segment')} ({formatBytes(bytes)}) that the current
      rules drop. To query {segments === 1 ? 'it' : 'them'} again, apply the edit, and then mark{' '}
      {segments === 1 ? 'it' : 'them'} as used in the list of{' '}
      <button type="button" className="link" onClick={showUnused}>
        unused segments
      </button>
      .
    </p>
  )
}

function showUnused(): void {
  const shown = document.querySelector<HTMLElement>('#unused-segments')
  shown?.scrollIntoView({ block: 'center' })
  shown?.focus()
}

/** What was applied or undone last, with a button that takes it back. */
function LastChange({
  apply: { applied, undoProblem, isBusy, undo },
  view,
  isFuture,
}: Pick<ReviewInput, 'view' | 'isFuture'> & { readonly apply: Apply }) {
  const problem = undoProblem && <Problem>{undoProblem}</Problem>
  // Others may have changed the rules before the undo.
  if (!applied) return problem
  const { isUndone, marking } = applied
  const undoLabel = marking?.isRunning === false ? 'Try again' : 'Undo'
  const canUndo = !isUndone || marking?.isRunning === false
  return (
    <>
      <Outcome isBusy={isBusy} label={undoLabel} onUndo={canUndo ? () => void undo() : undefined}>
        <b>{isUndone ? 'Undone.' : 'Applied.'}</b>{' '}
        {marking
          ? markingText(marking)
          : // A preview of the future does not show what the change still does.
            !isFuture && remainingText(view)}
      </Outcome>
      {problem}
    </>
  )
}

/** Says how many segments an undo has marked as used. */
const markingText = ({ marked, total, isRunning }: Marking): string =>
  isRunning
    ? `Marking segments as used: ${formatCount(marked)} of ${formatCount(total)}.`
    : `Marked ${formatCount(marked)} of ${countOf(total, 'segment')} as used.`

const sentence = (message: string, dataSource: string): string =>
  capitalized(visible(message.replace(`Datasource [${dataSource}]: `, ''))).replace(/[^.]$/, '$&.')

/** Whether applying makes data unqueryable or unused. */
const isLossy = ({ unqueryable, unused }: LostSegments): boolean =>
  unqueryable.queryableBefore > 0 || unused.segments > 0

/** What an edit loses that the stored rules do not lose: all losses if it is not known what the stored rules lose. */
function addedLosses({ losses, answer }: PreviewView): readonly LostSegments[] {
  if (losses === undefined) return [answer.summary.effects]
  return [losses.atTime.added, ...(losses.atOnce ? [losses.atOnce.added] : [])]
}

/** What an edit loses, and what the stored rules lose, too. */
function LossesOfEdit({ view }: { readonly view: PreviewView }) {
  const { losses, answer } = view
  if (losses === undefined) return <Loss effects={answer.summary.effects} />
  const { atTime, atOnce } = losses
  const anyway = shownLossOf(atTime.anyway)
  return (
    <>
      <Loss effects={atTime.added} />
      {atOnce && !isLossy(atTime.added) && <Loss effects={atOnce.added} when=" when the edit is applied" />}
      {anyway.segments > 0 && (
        <p className="hint">
          With or without the edit, {amountOf(anyway)} {(anyway.days ?? anyway.segments) === 1 ? 'is' : 'are'}{' '}
          unqueryable ({formatDays(anyway.interval!)}; {countOf(anyway.segments, 'segment')},{' '}
          {formatBytes(anyway.bytes)}).
        </p>
      )}
    </>
  )
}

const shownLossOf = ({ unqueryable, unused }: LostSegments) =>
  unqueryable.segments > 0 ? unqueryable : unused

const amountOf = ({ days, segments }: LostSegments['unused']): string =>
  days === null ? countOf(segments, 'segment') : countOf(days, 'day')

function Loss({ effects, when = '' }: { readonly effects: LostSegments; readonly when?: string }) {
  const { unused } = effects
  const lost = shownLossOf(effects)
  if (lost.segments === 0) return null
  const { days, interval, segments } = lost
  const isOne = (days ?? segments) === 1
  // Segments may wait for space, or for a tier, and have never been loaded.
  const isNew = isLossy(effects)
  return (
    <Notice kind="loss">
      <b>
        {amountOf(lost)} {isNew ? (isOne ? 'becomes' : 'become') : isOne ? 'is' : 'are'} unqueryable{when}
      </b>{' '}
      ({formatDays(interval!)}; {countOf(segments, 'segment')}, {formatBytes(lost.bytes)}).
      {unused.segments > 0 &&
        ' The data stays in deep storage and can be loaded again until a kill task deletes it.'}
    </Notice>
  )
}

const WhyReadOnly = () =>
  hasCluster() ? (
    <Notice kind="warning">
      You can preview this edit, but applying it requires WRITE on the datasource.
    </Notice>
  ) : (
    <p className="hint">
      A snapshot cannot be changed. Copy the link to share this edit with others who open the same snapshot,
      or copy the rules to store them in a cluster.
    </p>
  )

type Apply = ReturnType<typeof useApply>

function ApplyForm({
  input,
  isChangedByOther,
  apply,
}: {
  readonly input: ReviewInput
  readonly isChangedByOther: boolean
  readonly apply: Apply
}) {
  const { dataSource, edit, stored, view, isFuture } = input
  const { data: caller } = useCaller(dataSource)
  // A confirmation is about the loss of one edit.
  const [confirmation, setConfirmation] = useState<{ list: readonly RuleJson[]; typed: string }>()
  const typed = confirmation?.list === edit.list ? confirmation.typed : ''
  const mustConfirm = addedLosses(view).some(isLossy)
  const isReadOnly = caller?.datasource?.write === false
  const reason = whyNotYet(input, {
    isChangedByOther,
    isConfirmed: !mustConfirm || isTypedName(typed, dataSource),
    isBusy: apply.isBusy,
  })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (reason === undefined && !isReadOnly) void apply.apply(edit.list, edit.note)
      }}
    >
      {isReadOnly ? <WhyReadOnly /> : <NoteFields edit={edit} />}
      <div className="decision">
        {isChangedByOther && <OtherChange dataSource={dataSource} edit={edit} stored={stored} />}
        <LossesOfEdit view={view} />
        {mustConfirm && !isReadOnly && !isChangedByOther && (
          <label>
            <span>
              Type{' '}
              <b>
                <Name>{dataSource}</Name>
              </b>{' '}
              to confirm the loss
            </span>
            <input
              value={typed}
              spellCheck={false}
              autoComplete="off"
              onChange={({ target }) => setConfirmation({ list: edit.list, typed: target.value })}
            />
          </label>
        )}
        {isFuture && (
          <p className="hint">These numbers are for a future time, but the rules take effect immediately.</p>
        )}
        {apply.problem && <Problem>{apply.problem}</Problem>}
        {!isReadOnly && (
          <p className="hint" id="why-not-yet" role="status">
            {reason}
          </p>
        )}
        <Buttons
          input={input}
          canApply={isReadOnly ? undefined : reason === undefined}
          canDiscard={!isChangedByOther}
          isDanger={mustConfirm}
        />
      </div>
    </form>
  )
}

/** Returns why the edit cannot be applied yet; undefined if it can. */
function whyNotYet(
  { view, isValid, isOutdated }: ReviewInput,
  state: { readonly isChangedByOther: boolean; readonly isConfirmed: boolean; readonly isBusy: boolean },
): string | undefined {
  if (state.isBusy) return 'Applying the edit.'
  if (state.isChangedByOther) return 'To apply the edit, first decide whether to keep or discard it.'
  if (!isValid)
    return 'To apply the edit, first fix the rules. The numbers shown are from the last valid rules.'
  if (isOutdated)
    return 'The preview of this edit is not ready yet. The numbers shown are from an earlier edit.'
  if (view.assumesSpace) return 'To apply the edit, wait for the exact preview.'
  return state.isConfirmed ? undefined : 'To apply the edit, first confirm the loss.'
}

function NoteFields({ edit }: { readonly edit: RulesEdit }) {
  const set = (changed: Partial<ChangeNote>) =>
    edit.step({ kind: 'note', note: { ...edit.note, ...changed } })
  return (
    <div className="fields">
      <label>
        <span>
          Comment <span className="dim">(for the history)</span>
        </span>
        <input value={edit.note.comment} onChange={(event) => set({ comment: event.target.value })} />
      </label>
      <label>
        <span>
          Author <span className="dim">(if not you)</span>
        </span>
        <input value={edit.note.author} onChange={(event) => set({ author: event.target.value })} />
      </label>
    </div>
  )
}

function Buttons({
  input: { dataSource, edit, view },
  canApply,
  canDiscard,
  isDanger,
}: {
  readonly input: ReviewInput
  /** Whether the edit can be applied now; undefined if the user may not apply anything. */
  readonly canApply: boolean | undefined
  /** Whether no other button discards the edit. */
  readonly canDiscard: boolean
  readonly isDanger: boolean
}) {
  const { data: caller } = useCaller(dataSource)
  const { authorization, user } = useSession()
  return (
    <div className="row between buttons">
      <span className="row">
        {canApply !== undefined && (
          <button
            type="submit"
            className={isDanger ? 'danger' : 'primary'}
            disabled={!canApply}
            aria-describedby="why-not-yet"
          >
            Apply
          </button>
        )}
        {canDiscard && (
          <button type="button" onClick={edit.discard} title="Esc">
            Discard
          </button>
        )}
      </span>
      <span className="row">
        <SavePlanButton dataSource={dataSource} edit={edit} effects={view.answer.summary.effects} />
        <CopyButton label="Copy link" textOf={() => linkToRules(dataSource, edit.list)} />
        {hasCluster() ? (
          <CopyButton
            label="Copy as curl"
            textOf={() =>
              curlOf(dataSource, edit.list, edit.note, {
                origin: location.origin,
                user: authorization === undefined ? undefined : user,
                authorityFile: caller?.authorityFile ?? null,
              })
            }
          />
        ) : (
          <CopyButton label="Copy rules" textOf={() => JSON.stringify(edit.list, null, 2)} />
        )}
      </span>
    </div>
  )
}

/** What another person changed while this edit was open. */
function OtherChange({
  dataSource,
  edit,
  stored,
}: {
  readonly dataSource: string
  readonly edit: RulesEdit
  readonly stored: readonly RuleJson[]
}) {
  const { data: last } = useLastRuleChange(dataSource)
  return (
    <ChangedByOther
      what="these rules"
      last={last}
      onKeep={() => edit.step({ kind: 'rebase' })}
      onDiscard={edit.discard}
    >
      <RuleDifferences before={edit.base} after={stored} />
    </ChangedByOther>
  )
}

/** Says what the servers still have to do after a change. */
function remainingText({ answer }: PreviewView): string {
  const { loaded, dropped, moved } = answer.summary.effects
  const [loads, drops] = [loaded.copies! + moved.copies!, dropped.copies! + moved.copies!]
  const missing = missingReplicasText(answer.summary.effects)
  if (loads + drops > 0) return `${countOf(loads, 'replica')} to load and ${formatCount(drops)} to drop.`
  return missing === undefined
    ? 'All replicas are where the rules require them.'
    : `Nothing more to load, but replicas are missing: ${missing}.`
}
