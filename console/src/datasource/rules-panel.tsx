import { defaultRulesName, type RuleJson } from '@svc/domain/rules'
import { countOf } from '@svc/domain/text'
import { useVirtualizer } from '@tanstack/react-virtual'
import { type DragEvent, type KeyboardEvent, type RefObject, useEffect, useRef, useState } from 'react'
import { Link } from 'wouter'
import { datasourceAddress } from '../location.ts'
import { Name, Problem, TierMark, visible } from '../ui/index.ts'
import { type ParsedList, parseList } from './parsed-rules.ts'
import { RuleForm } from './rule-form.tsx'
import { datesOf, describeRule, partsOf, replicantsOf } from './rule-text.ts'
import { type DraftRule, isChangedRule } from './rules-draft.ts'
import type { RulesEdit } from './use-rules-edit.ts'

/** What the rules are shown with. */
export interface RulesContext {
  readonly now: number
  readonly colors: ReadonlyMap<string, number>
  readonly tiers: readonly string[]
}

interface PanelInput {
  readonly edit: RulesEdit
  readonly parsed: ParsedList
  readonly context: RulesContext
}

/** The rules of a datasource: to edit, reorder, add, and remove. The cluster defaults follow. */
export function RulesPanel({
  edit,
  defaults,
  parsed,
  context,
}: PanelInput & { readonly defaults: readonly RuleJson[] }) {
  const [open, setOpen] = useState<number>()
  const addButton = useRef<HTMLButtonElement>(null)
  const add = () => {
    const key = edit.add({
      type: 'loadByPeriod',
      period: 'P1M',
      includeFuture: true,
      tieredReplicants: { [context.tiers[0] ?? '_default_tier']: 1 },
    })
    setOpen(key)
  }
  const isCaughtByOwn = edit.list.some(({ type }) => partsOf(type).scope === 'Forever')
  const isAboutList = 'problem' in parsed && (parsed.index === undefined || edit.list.length > maxPlain)
  return (
    <section aria-labelledby="rules-title">
      <div className="row between">
        <h2 id="rules-title">Rules</h2>
        <button ref={addButton} type="button" onClick={add}>
          Add rule
        </button>
      </div>
      <p className="hint">
        The first rule that matches a segment applies. Drag to reorder, or press Alt+↑ or Alt+↓.
      </p>
      {isAboutList && <Problem>{visible(parsed.problem)}</Problem>}
      <RuleList
        edit={edit}
        parsed={parsed}
        context={context}
        open={open}
        onOpen={setOpen}
        onEmpty={() => addButton.current?.focus()}
      />
      {edit.draft.length === 0 && (
        <p className="hint">This datasource has no rules of its own, so the cluster default rules apply.</p>
      )}
      <DefaultRules defaults={defaults} context={context} isReached={!isCaughtByOwn} />
    </section>
  )
}

// Longer lists scroll, and only their visible rules exist.
const maxPlain = 50
const usualRuleHeight = 54
const ruleGap = 6

/** The rules as cards in the order in which they apply. */
function RuleList({
  edit,
  parsed,
  context,
  open,
  onOpen,
  onEmpty,
}: PanelInput & {
  /** The key of the rule whose form is open. */
  readonly open: number | undefined
  onOpen(key: number | undefined): void
  /** Called when the last rule was removed, so that the focus is not lost. */
  onEmpty(): void
}) {
  const { draft } = edit
  const box = useRef<HTMLDivElement>(null)
  const [dragged, setDragged] = useDragged()
  const focus = useFocusLater(box)
  const isLong = draft.length > maxPlain
  const cards = useCards(draft, box, isLong)
  const shown = cards.getVirtualItems()
  const move = (key: number, place: number) => {
    const next = Math.min(draft.length - 1, Math.max(0, place))
    edit.step({ kind: 'move', key, place: next })
    if (isLong) cards.scrollToIndex(next)
  }
  const remove = (key: number, place: number) => {
    const next = draft[place + 1] ?? draft[place - 1]
    edit.step({ kind: 'remove', key })
    if (next === undefined) onEmpty()
    else focus(next.key)
  }
  return (
    <div ref={box} className={isLong ? 'long-rules' : undefined}>
      <ol
        className="rules"
        style={{
          paddingTop: shown[0]?.start ?? 0,
          paddingBottom: cards.getTotalSize() - (shown.at(-1)?.end ?? 0),
        }}
      >
        {shown.map(({ index, key }) => (
          <li
            key={key}
            ref={cards.measureElement}
            data-index={index}
            data-key={key}
            aria-setsize={draft.length}
            aria-posinset={index + 1}
          >
            <RuleCard
              one={draft[index]!}
              place={index}
              edit={edit}
              context={context}
              problem={'problem' in parsed && parsed.index === index ? parsed.problem : undefined}
              isOpen={open === key}
              onToggle={() => onOpen(open === key ? undefined : (key as number))}
              dragged={dragged}
              onDragged={setDragged}
              onMove={move}
              onRemove={remove}
            />
          </li>
        ))}
      </ol>
    </div>
  )
}

/** Which of the rules exist as cards, because they are visible. */
const useCards = (draft: readonly DraftRule[], box: RefObject<HTMLDivElement | null>, isLong: boolean) =>
  useVirtualizer({
    count: draft.length,
    getScrollElement: () => box.current,
    estimateSize: () => usualRuleHeight,
    getItemKey: (index) => draft[index]!.key,
    gap: ruleGap,
    // The list has no height before its rules are shown.
    initialRect: { width: 1, height: 1 },
    overscan: isLong ? 6 : maxPlain,
  })

/** The key of the rule that is being dragged. It may be scrolled out of sight, and then gets no event at the end. */
function useDragged() {
  const [dragged, setDragged] = useState<number>()
  useEffect(() => {
    if (dragged === undefined) return undefined
    const end = () => setDragged(undefined)
    // While something is dragged, there are no events of the pointer.
    const events = ['dragend', 'drop', 'pointermove']
    for (const event of events) addEventListener(event, end)
    return () => {
      for (const event of events) removeEventListener(event, end)
    }
  }, [dragged])
  return [dragged, setDragged] as const
}

/** Returns a function that moves the focus to a rule, given by its key, once it is shown. */
function useFocusLater(box: { readonly current: HTMLElement | null }): (key: number) => void {
  const [key, setKey] = useState<number>()
  useEffect(() => {
    if (key === undefined) return
    box.current?.querySelector<HTMLElement>(`[data-key="${key}"] .rule-button`)?.focus()
    setKey(undefined)
  }, [key, box])
  return setKey
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
  onMove(key: number, place: number): void
  onRemove(key: number, place: number): void
}

function RuleCard(input: CardInput) {
  const { one, place, edit, context, problem, isOpen, onToggle, dragged, onDragged, onMove, onRemove } = input
  const onKey = (event: KeyboardEvent) => {
    const step = event.altKey && (event.key === 'ArrowUp' ? -1 : event.key === 'ArrowDown' ? 1 : 0)
    if (!step) return
    event.preventDefault()
    onMove(one.key, place + step)
  }
  const onOver = (event: DragEvent) => {
    if (dragged === undefined) return
    event.preventDefault()
    if (dragged !== one.key) edit.step({ kind: 'move', key: dragged, place })
  }
  return (
    <div
      className={`rule${isChangedRule(one) ? ' edited' : ''}${problem ? ' invalid' : ''}${dragged === one.key ? ' dragged' : ''}`}
      onDragOver={onOver}
      onDrop={(event) => event.preventDefault()}
    >
      <div className="rule-head">
        <span className="handle" draggable aria-hidden="true" onDragStart={() => onDragged(one.key)}>
          ⋮⋮
        </span>
        <button
          type="button"
          className="rule-button"
          aria-expanded={isOpen}
          onClick={onToggle}
          onKeyDown={onKey}
          title="Edit (press Alt+↑ or Alt+↓ to move the rule)"
        >
          <RuleSummary number={place} one={one} context={context} />
        </button>
        <button
          type="button"
          className="quiet"
          onClick={() => onRemove(one.key, place)}
          title="Remove this rule"
        >
          <span aria-hidden="true">✕</span>
          <span className="unseen">Remove rule {place}</span>
        </button>
      </div>
      {problem && (
        <p className="problem" role="alert">
          {visible(problem)}
        </p>
      )}
      {isOpen && (
        <RuleForm
          rule={one.rule}
          tiers={context.tiers}
          onChange={(rule) => edit.step({ kind: 'change', key: one.key, rule })}
        />
      )}
    </div>
  )
}

function RuleSummary({
  number,
  one,
  context,
}: {
  readonly number: number
  readonly one: DraftRule
  readonly context: RulesContext
}) {
  const { rule, original } = one
  const { what, scope, where } = describeRule(rule)
  const before = original && describeRule(original)
  const isChanged = isChangedRule(one)
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

// More default rules are not listed here.
const maxDefaults = 20

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
    <>
      <ol className="rules defaults" aria-label="Cluster default rules">
        {defaults.slice(0, maxDefaults).map((rule, index) => {
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
      {defaults.length > 0 && (
        <p className="hint">
          {defaults.length > maxDefaults &&
            `${countOf(defaults.length - maxDefaults, 'more default rule')}. `}
          <Link href={datasourceAddress(defaultRulesName)} className="alone">
            Show the cluster default rules
          </Link>
        </p>
      )}
    </>
  )
}
