import type { AnsweredEffects } from '@svc/domain/preview'
import type { RuleJson } from '@svc/domain/rules'
import { countOf, formatBytes, formatCount } from '@svc/domain/text'
import { useState } from 'react'
import { useCaller, useRuleHistory } from '../cluster/index.ts'
import type { PreviewView } from '../preview/index.ts'
import { hasCluster } from '../session/index.ts'
import { CopyButton, formatAge, formatDays, Name, Notice, Problem } from '../ui/index.ts'
import { curlOf } from './curl.ts'
import { LoadTime } from './load-time.tsx'
import { ReviewTitle, SavePlanButton } from './plan-buttons.tsx'
import { describeRule } from './rule-text.ts'
import { linkToRules } from './rules-link.ts'
import { type Applied, useApply } from './use-apply.ts'
import { type RulesEdit, sameRules } from './use-rules-edit.ts'

interface ReviewInput {
  readonly dataSource: string
  readonly edit: RulesEdit
  /** The rules that are stored now. */
  readonly stored: readonly RuleJson[]
  readonly view: PreviewView
  readonly isValid: boolean
  readonly isFuture: boolean
}

// Maximum number of warnings to show.
const maxWarnings = 5

/** What the edit does in numbers, what is lost, and the buttons to apply or discard it. */
export function ReviewPanel(input: ReviewInput) {
  const { dataSource, edit, stored, view } = input
  const apply = useApply(dataSource, edit, stored)
  const effects = view.answer.summary.effects
  const warnings = view.answer.warnings.filter(
    ({ type }) => type !== 'dataBecomesUnused' && type !== 'doesNotFit',
  )
  const isChangedByOther = edit.isEdited && !sameRules(edit.base, stored)
  return (
    <section aria-labelledby="review-title" className="review-drawer">
      <ReviewTitle title={edit.isEdited ? 'Review' : 'State'} dataSource={dataSource} edit={edit} />
      <Loss effects={effects} />
      {edit.isEdited && input.isValid && <LoadTime dataSource={dataSource} rules={edit.list} />}
      {warnings.slice(0, maxWarnings).map(({ message }) => (
        <Notice key={message} kind="warning">
          {sentence(message, dataSource)}
        </Notice>
      ))}
      {warnings.length > maxWarnings && (
        <p className="hint">{countOf(warnings.length - maxWarnings, 'more warning')}.</p>
      )}
      {isChangedByOther && <ChangedByOther dataSource={dataSource} edit={edit} stored={stored} />}
      {edit.isEdited ? (
        <ApplyForm input={input} isBlocked={isChangedByOther} apply={apply} />
      ) : (
        apply.applied && (
          <AppliedBox applied={apply.applied} view={view} onUndo={apply.undo} problem={apply.problem} />
        )
      )}
    </section>
  )
}

const sentence = (message: string, dataSource: string): string =>
  message
    .replace(`Datasource [${dataSource}]: `, '')
    .replace(/^\w/, (letter) => letter.toUpperCase())
    .replace(/[^.]$/, '$&.')

/** Whether applying makes data unqueryable or unused. */
const isLossy = ({ unqueryable, unused }: AnsweredEffects): boolean =>
  unqueryable.queryableBefore > 0 || unused.segments > 0

function Loss({ effects }: { readonly effects: AnsweredEffects }) {
  const { unqueryable, unused } = effects
  const lost = unqueryable.segments > 0 ? unqueryable : unused
  if (lost.segments === 0) return null
  const { days, interval, segments } = lost
  const isOne = (days ?? segments) === 1
  // Segments may wait for space, or for a tier, and have never been loaded.
  const isNew = isLossy(effects)
  return (
    <Notice kind="loss">
      <b>
        {days === null ? countOf(segments, 'segment') : countOf(days, 'day')}{' '}
        {isNew ? (isOne ? 'becomes' : 'become') : isOne ? 'is' : 'are'} unqueryable
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

function ApplyForm({
  input,
  isBlocked,
  apply,
}: {
  readonly input: ReviewInput
  readonly isBlocked: boolean
  readonly apply: ReturnType<typeof useApply>
}) {
  const { dataSource, edit, view, isValid, isFuture } = input
  const { data: caller } = useCaller(dataSource)
  const [author, setAuthor] = useState('')
  const [comment, setComment] = useState('')
  const [typed, setTyped] = useState('')
  const mustConfirm = isLossy(view.answer.summary.effects)
  const isConfirmed = !mustConfirm || typed === dataSource
  if (caller?.datasource?.write === false) {
    return (
      <>
        <WhyReadOnly />
        <div className="decision">
          <Buttons input={input} audit={{ author, comment }} onApply={undefined} />
        </div>
      </>
    )
  }
  const canApply = isValid && isConfirmed && !isBlocked && !apply.isBusy
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (canApply) void apply.apply(edit.list, { author, comment })
      }}
    >
      <label>
        <span>
          Comment <span className="dim">(kept in the history)</span>
        </span>
        <input value={comment} onChange={(event) => setComment(event.target.value)} />
      </label>
      <label>
        <span>
          Author <span className="dim">(if not the logged-in user)</span>
        </span>
        <input value={author} onChange={(event) => setAuthor(event.target.value)} />
      </label>
      <div className="decision">
        {mustConfirm && (
          <label>
            <span>
              Type{' '}
              <b>
                <Name>{dataSource}</Name>
              </b>{' '}
              to confirm the loss
            </span>
            <input value={typed} spellCheck={false} onChange={(event) => setTyped(event.target.value)} />
          </label>
        )}
        {isFuture && (
          <p className="hint">These numbers preview the future, but the rules apply from now on.</p>
        )}
        {apply.problem && <Problem>{apply.problem}</Problem>}
        <Buttons input={input} audit={{ author, comment }} onApply={canApply} isDanger={mustConfirm} />
      </div>
    </form>
  )
}

function Buttons({
  input,
  audit,
  onApply,
  isDanger = false,
}: {
  readonly input: ReviewInput
  readonly audit: { readonly author: string; readonly comment: string }
  /** Whether the edit can be applied now; undefined if the user may not apply anything. */
  readonly onApply: boolean | undefined
  readonly isDanger?: boolean
}) {
  const { dataSource, edit } = input
  return (
    <div className="row between buttons">
      <span className="row">
        {onApply !== undefined && (
          <button type="submit" className={isDanger ? 'danger' : 'primary'} disabled={!onApply}>
            Apply
          </button>
        )}
        <button type="button" onClick={edit.discard} title="Esc">
          Discard
        </button>
      </span>
      <span className="row">
        <SavePlanButton dataSource={dataSource} edit={edit} effects={input.view.answer.summary.effects} />
        <CopyButton label="Copy link" textOf={() => linkToRules(dataSource, edit.list)} />
        {hasCluster() ? (
          <CopyButton label="Copy as curl" textOf={() => curlOf(dataSource, edit.list, audit)} />
        ) : (
          <CopyButton label="Copy rules" textOf={() => JSON.stringify(edit.list, null, 2)} />
        )}
      </span>
    </div>
  )
}

/** Shows what another person stored while this edit was open. Nothing is applied until the user has chosen one. */
function ChangedByOther({
  dataSource,
  edit,
  stored,
}: {
  readonly dataSource: string
  readonly edit: RulesEdit
  readonly stored: readonly RuleJson[]
}) {
  const { data: history } = useRuleHistory(dataSource)
  const last = history?.[0]
  return (
    <div className="notice warning" role="alert">
      <b>These rules changed while you were editing.</b>{' '}
      {last && (
        <>
          <Name>{last.auditInfo.author || last.auditInfo.identity}</Name> stored the rules below{' '}
          {formatAge(Date.now() - Date.parse(last.auditTime))}
          {last.auditInfo.comment && (
            <>
              : “<bdi>{last.auditInfo.comment}</bdi>”
            </>
          )}
          .
        </>
      )}
      <ol className="other-rules" start={0}>
        {stored.map((rule, index) => {
          const { what, scope, where } = describeRule(rule)
          const isNew = JSON.stringify(rule) !== JSON.stringify(edit.base[index])
          return (
            <li key={index} className={isNew ? 'changed' : ''}>
              {what} {scope}{' '}
              {where && (
                <>
                  → <Name>{where}</Name>
                </>
              )}
              {isNew && ' (changed)'}
            </li>
          )
        })}
        {stored.length === 0 && <li>No rules</li>}
      </ol>
      <div className="row">
        <button type="button" onClick={() => edit.rebase(stored)}>
          Keep my edit and replace these rules
        </button>
        <button type="button" onClick={edit.discard}>
          Discard my edit
        </button>
      </div>
    </div>
  )
}

/** What happens after an edit is applied, and how to undo it. */
function AppliedBox({
  applied,
  view,
  onUndo,
  problem,
}: {
  readonly applied: Applied
  readonly view: PreviewView
  onUndo(): void
  readonly problem: string | undefined
}) {
  const { loaded, dropped, moved, waitingForTier, doesNotFit } = view.answer.summary.effects
  const [loads, drops] = [loaded.copies! + moved.copies!, dropped.copies! + moved.copies!]
  const missing = waitingForTier.copies! + doesNotFit.copies!
  return (
    <Notice kind="done" role="status">
      <div className="row between">
        <span>
          <b>{applied.isUndone ? 'Undone.' : 'Applied.'}</b>{' '}
          {loads + drops > 0
            ? `${countOf(loads, 'replica')} to load and ${formatCount(drops)} to drop.`
            : missing === 0
              ? 'All replicas are where the rules require them.'
              : `${countOf(missing, 'replica')} cannot be loaded.`}
        </span>
        {!applied.isUndone && (
          <button type="button" onClick={onUndo}>
            Undo
          </button>
        )}
      </div>
      {problem && <p className="problem">{problem}</p>}
    </Notice>
  )
}
