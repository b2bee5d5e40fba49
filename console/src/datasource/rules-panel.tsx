import type { RuleJson } from '@svc/domain/rules'
import { type DragEvent, type KeyboardEvent, useState } from 'react'
import { Name, TierMark } from '../ui/index.ts'
import { RuleForm } from './rule-form.tsx'
import { datesOf, describeRule, type ParsedList, parseList, partsOf, replicantsOf } from './rule-text.ts'
import type { DraftRule, RulesEdit } from './use-rules-edit.ts'

/** What the rules are shown with. */
export interface RulesContext {
  readonly now: number
  readonly colors: ReadonlyMap<string, number>
  readonly tiers: readonly string[]
}

/** The rules of a datasource: to edit, reorder, add, and remove. The cluster defaults follow. */
export function RulesPanel({
  edit,
  defaults,
  parsed,
  context,
}: {
  readonly edit: RulesEdit
  readonly defaults: readonly RuleJson[]
  readonly parsed: ParsedList
  readonly context: RulesContext
}) {
  const [open, setOpen] = useState<number>()
  const [dragged, setDragged] = useState<number>()
  const add = () => {
    const key = edit.add({
      type: 'loadByPeriod',
      period: 'P1M',
      includeFuture: true,
      tieredReplicants: { [context.tiers[0] ?? '_default_tier']: 1 },
    })
    setOpen(key)
  }
  const isCaughtByOwn = edit.list.some(({ type }) => type.endsWith('Forever'))
  return (
    <section aria-labelledby="rules-title">
      <div className="row between">
        <h2 id="rules-title">Rules</h2>
        <button type="button" onClick={add}>
          Add rule
        </button>
      </div>
      <p className="hint">
        The first rule that matches a segment applies. Drag to reorder, or press Alt with ↑ or ↓.
      </p>
      <ol className="rules">
        {edit.draft.map((one, place) => (
          <RuleCard
            key={one.key}
            one={one}
            place={place}
            edit={edit}
            context={context}
            problem={'problem' in parsed && parsed.index === place ? parsed.problem : undefined}
            isOpen={open === one.key}
            onToggle={() => setOpen(open === one.key ? undefined : one.key)}
            dragged={dragged}
            onDragged={setDragged}
          />
        ))}
      </ol>
      {edit.draft.length === 0 && (
        <p className="hint">This datasource has no rules of its own, so the cluster default rules apply.</p>
      )}
      <DefaultRules defaults={defaults} context={context} isReached={!isCaughtByOwn} />
    </section>
  )
}

interface CardInput {
  readonly one: DraftRule
  readonly place: number
  readonly edit: RulesEdit
  readonly context: RulesContext
  readonly problem: string | undefined
  readonly isOpen: boolean
  onToggle(): void
  readonly dragged: number | undefined
  onDragged(key: number | undefined): void
}

function RuleCard(input: CardInput) {
  const { one, place, edit, context, problem, isOpen, onToggle, dragged, onDragged } = input
  const isChanged = JSON.stringify(one.rule) !== JSON.stringify(one.original)
  const onKey = (event: KeyboardEvent) => {
    const step = event.altKey && (event.key === 'ArrowUp' ? -1 : event.key === 'ArrowDown' ? 1 : 0)
    if (!step) return
    event.preventDefault()
    edit.move(one.key, Math.max(0, place + step))
  }
  const onOver = (event: DragEvent) => {
    if (dragged === undefined) return
    event.preventDefault()
    if (dragged !== one.key) edit.move(dragged, place)
  }
  return (
    <li
      className={`rule${isChanged ? ' edited' : ''}${problem ? ' invalid' : ''}${dragged === one.key ? ' dragged' : ''}`}
      onDragOver={onOver}
      onDrop={(event) => event.preventDefault()}
    >
      <div className="rule-head">
        <span
          className="handle"
          draggable
          aria-hidden="true"
          onDragStart={() => onDragged(one.key)}
          onDragEnd={() => onDragged(undefined)}
        >
          ⋮⋮
        </span>
        <button
          type="button"
          className="rule-button"
          aria-expanded={isOpen}
          onClick={onToggle}
          onKeyDown={onKey}
          title="Edit; Alt with ↑ or ↓ moves the rule"
        >
          <RuleSummary number={place} rule={one.rule} original={one.original} context={context} />
        </button>
        <button type="button" className="quiet" onClick={() => edit.remove(one.key)} title="Remove this rule">
          <span aria-hidden="true">✕</span>
          <span className="unseen">Remove rule {place}</span>
        </button>
      </div>
      {problem && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      {isOpen && (
        <RuleForm rule={one.rule} tiers={context.tiers} onChange={(rule) => edit.change(one.key, rule)} />
      )}
    </li>
  )
}

function RuleSummary({
  number,
  rule,
  original,
  context,
}: {
  readonly number: number
  readonly rule: RuleJson
  readonly original: RuleJson | undefined
  readonly context: RulesContext
}) {
  const { what, scope, where } = describeRule(rule)
  const before = original && describeRule(original)
  const isChanged = original === undefined || JSON.stringify(rule) !== JSON.stringify(original)
  const dates = datesOfJson(rule, context.now)
  const datesBefore = isChanged && original ? datesOfJson(original, context.now) : undefined
  const was = [
    before?.scope !== scope && before?.scope,
    before?.where !== where && before?.where,
    before?.what !== what && before?.what,
  ]
  return (
    <span className="rule-text">
      <span className="number">{number}</span>
      <span>
        <span className="line">
          {what} <b>{scope}</b>{' '}
          {where && (
            <>
              → <Name>{where}</Name>
            </>
          )}
          {isChanged && (
            <span className="was">
              {original ? `was ${was.filter(Boolean).join(', ') || 'different'}` : 'new'}
            </span>
          )}
        </span>
        <small>
          {dates ?? 'incomplete'}
          {datesBefore !== undefined && datesBefore !== dates && ` (before: ${datesBefore})`}
        </small>
      </span>
      <RuleMarks rule={rule} colors={context.colors} />
    </span>
  )
}

function RuleMarks({
  rule,
  colors,
}: {
  readonly rule: RuleJson
  readonly colors: ReadonlyMap<string, number>
}) {
  if (partsOf(rule.type).action === 'drop') return <span className="mark drop" aria-hidden="true" />
  return (
    <span className="marks">
      {Object.keys(replicantsOf(rule)).map((tier) => (
        <TierMark key={tier} color={colors.get(tier)} />
      ))}
    </span>
  )
}

function datesOfJson(rule: RuleJson, now: number): string | undefined {
  const parsed = parseList([rule])
  return 'rules' in parsed ? datesOf(parsed.rules[0]!, now) : undefined
}

function DefaultRules({
  defaults,
  context,
  isReached,
}: {
  readonly defaults: readonly RuleJson[]
  readonly context: RulesContext
  readonly isReached: boolean
}) {
  return (
    <ol className="rules defaults" aria-label="Cluster default rules">
      {defaults.map((rule, index) => {
        const { what, scope, where } = describeRule(rule)
        return (
          <li key={index} className="rule">
            <span className="rule-text">
              <span className="number">–</span>
              <span>
                <span className="line">
                  {what} <b>{scope}</b>{' '}
                  {where && (
                    <>
                      → <Name>{where}</Name>
                    </>
                  )}
                </span>
                <small>cluster default{isReached ? '' : ', never reached'}</small>
              </span>
              <RuleMarks rule={rule} colors={context.colors} />
            </span>
          </li>
        )
      })}
    </ol>
  )
}
