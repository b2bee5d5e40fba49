import type { ServedFigures } from '@svc/domain/preview'
import type { RuleJson } from '@svc/domain/rules'
import { countOf, formatBytes, formatCount } from '@svc/domain/text'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useCallback, useEffect, useMemo, useState } from 'react'
import { Link } from 'wouter'
import { ClockBar, useClockOffset } from '../clock/index.ts'
import { useCaller, useInventory, useLastRuleChange, useRules } from '../cluster/index.ts'
import { hasCluster } from '../session/index.ts'
import { Empty, formatAge, isTyping, Name, Problem, tierColors, visible } from '../ui/index.ts'
import { callWorker, type InventoryFigures, type PreviewView, type TimeRange } from '../web-worker/index.ts'
import { knownTiers } from './known-tiers.ts'
import { identityOf } from './object-identity.ts'
import { type ParsedList, parseList } from './parsed-rules.ts'
import { ReviewPanel } from './review-panel.tsx'
import { RuleHistory } from './rule-history.tsx'
import { replicantsOf } from './rule-text.ts'
import { useLinkedRules } from './rules-link.ts'
import { RulesPanel } from './rules-panel.tsx'
import { SegmentsDialog } from './segments-dialog.tsx'
import { nextShown, type ShownPreview } from './shown-preview.ts'
import { TimelinePanel } from './timeline-panel.tsx'
import { type RulesEdit, useRulesEdit } from './use-rules-edit.ts'
import { WhatMoves } from './what-moves.tsx'

// Buckets are at least this many pixels wide.
const bucketPixels = 9

/** One datasource: its data and rules on one time axis, and what an edit of the rules would do. */
export function DatasourceScreen({ dataSource }: { readonly dataSource: string }) {
  const { data: caller, error } = useCaller(dataSource)
  if (caller?.datasource?.read === false)
    return (
      <NotShown title="Missing permission">
        Showing this datasource requires READ on DATASOURCE {visible(dataSource)}.
      </NotShown>
    )
  if (caller === undefined)
    return error ? (
      <NotShown title={failedToLoad}>{error.message}</NotShown>
    ) : (
      <Empty title="Loading the datasource…" />
    )
  return <Readable dataSource={dataSource} />
}

const failedToLoad = 'Failed to load this datasource'

const NotShown = ({ title, children }: { readonly title: string; readonly children: ReactNode }) => (
  <Empty title={title}>
    <p>{children}</p>
    <p>
      <Link href="/datasources">Show all datasources</Link>
    </p>
  </Empty>
)

function Readable({ dataSource }: { readonly dataSource: string }) {
  const inventory = useInventory()
  const rules = useRules(dataSource)
  const problem = inventory.error ?? rules.error
  if (problem && !(inventory.data && rules.data))
    return <NotShown title={failedToLoad}>{problem.message}</NotShown>
  if (!inventory.data || !rules.data) return <Empty title="Loading the cluster inventory…" />
  return (
    <Loaded
      dataSource={dataSource}
      inventory={inventory.data}
      own={rules.data.own}
      defaults={rules.data.defaults}
    />
  )
}

interface LoadedInput {
  readonly dataSource: string
  readonly inventory: InventoryFigures
  readonly own: readonly RuleJson[]
  readonly defaults: readonly RuleJson[]
}

function Loaded({ dataSource, inventory, own, defaults }: LoadedInput) {
  const edit = useRulesEdit(dataSource, own)
  const offsetMs = useClockOffset()
  const [range, setRange] = useState<TimeRange>()
  const explanation = useExplanationDialog(dataSource)
  const parsed = parseList(edit.list)
  const isValid = 'rules' in parsed
  const now = inventory.now + offsetMs
  const shownRules = useLast(edit.list, isValid, own)
  const view = usePreview({ dataSource, inventory, rules: shownRules, offsetMs, range })
  const isOutdated = !isValid || view.isOutdated
  useDiscardKey(edit)
  const { colors, tiers } = useColors(inventory, edit.list, defaults, view.data)
  return (
    <div className="datasource">
      <div className="picture">
        <Title
          dataSource={dataSource}
          inventory={inventory}
          edit={edit}
          onExplainLacking={explanation.explainLacking}
        />
        <ClockBar isEdited={edit.isEdited} />
        <Problems edit={edit} parsed={parsed} previewError={view.error} />
        {view.data && (
          <TimelinePanel
            dataSource={dataSource}
            view={view.data}
            range={range}
            onRange={setRange}
            now={now}
            colors={colors}
            edit={edit}
            stored={own}
            rules={shownRules}
            defaults={defaults}
            isFuture={offsetMs > 0}
            isOutdated={isOutdated}
            onExplain={inventory.isLocal ? explanation.explain : undefined}
          />
        )}
        {view.data && (
          <WhatMoves {...{ dataSource, colors, isOutdated }} view={view.data} isEdited={edit.isEdited} />
        )}
      </div>
      <aside aria-label="Rules and review">
        <RulesPanel edit={edit} defaults={defaults} parsed={parsed} context={{ now, colors, tiers }} />
        {view.data && (
          <ReviewPanel
            dataSource={dataSource}
            edit={edit}
            stored={own}
            defaults={defaults}
            now={inventory.now}
            view={view.data}
            isValid={isValid}
            isOutdated={isOutdated}
            isFuture={offsetMs > 0}
            colors={colors}
          />
        )}
      </aside>
      {explanation.dialog}
    </div>
  )
}

/** What is wrong with the link that was opened, and why the preview failed. */
function Problems({
  edit,
  parsed,
  previewError,
}: {
  readonly edit: RulesEdit
  readonly parsed: ParsedList
  readonly previewError: Error | null
}) {
  const linkProblem = useLinkedRules(edit, parsed)
  return (
    <>
      {linkProblem && <Problem>{visible(linkProblem)}</Problem>}
      {previewError && <Problem>The preview failed: {previewError.message}</Problem>}
    </>
  )
}

/** The tiers that the screen shows, and their colors. */
function useColors(
  inventory: InventoryFigures,
  list: readonly RuleJson[],
  defaults: readonly RuleJson[],
  view: PreviewView | undefined,
) {
  // With thousands of datasources, not for each edit.
  const known = useMemo(() => knownTiers(inventory), [inventory])
  return useMemo(() => {
    const colors = colorsOf(known, [...list, ...defaults], view)
    return { colors, tiers: [...colors.keys()].sort() }
  }, [known, list, defaults, view])
}

/** The dialog that explains the segments of a part of the time axis, or those that lack replicas. */
function useExplanationDialog(dataSource: string) {
  const [shown, setShown] = useState<{ readonly range: TimeRange | undefined }>()
  const explain = useCallback((range: TimeRange) => setShown({ range }), [])
  return {
    explain,
    explainLacking: () => setShown({ range: undefined }),
    dialog: shown && (
      <SegmentsDialog dataSource={dataSource} range={shown.range} onClose={() => setShown(undefined)} />
    ),
  }
}

/**
 * Computes the preview of rules: those of the edit, or the stored ones. Shows the previous one until the next is ready. Where tiers may
 * run out of space, it first assumes that all replicas fit, and is replaced once they are placed.
 */
function usePreview({
  dataSource,
  inventory,
  rules,
  offsetMs,
  range,
}: {
  readonly dataSource: string
  readonly inventory: InventoryFigures
  readonly rules: readonly RuleJson[]
  readonly offsetMs: number
  readonly range: TimeRange | undefined
}) {
  const maxBuckets = Math.min(300, Math.max(40, Math.floor((innerWidth - 560) / bucketPixels)))
  const now = offsetMs === 0 ? undefined : inventory.now + offsetMs
  // The coordinator's preview has no parts, so zooming does not need another one.
  const part = inventory.isLocal ? range : undefined
  const queries = useQueryClient()
  const subject = `${identityOf(rules)} ${offsetMs}`
  const queryKey = ['preview', dataSource, inventory.revision, subject, now, part, maxBuckets]
  const task = { dataSource, rules, now, range: part, maxBuckets }
  const view = useQuery({
    queryKey,
    queryFn: ({ signal }) => callWorker('preview', { ...task, assumesSpace: true }, signal),
    staleTime: inventory.isLocal ? Number.POSITIVE_INFINITY : 5000,
    gcTime: 10_000,
    retry: false,
  })
  const placement = useQuery({
    queryKey: ['placement', ...queryKey],
    queryFn: async ({ signal }) => {
      const placed = await callWorker('preview', { ...task, assumesSpace: false }, signal)
      queries.setQueryData(queryKey, placed)
      return null
    },
    enabled: view.data?.assumesSpace === true,
    staleTime: 0,
    gcTime: 0,
    retry: false,
  })
  const [shown, setShown] = useState<ShownPreview>()
  const next = view.data ? nextShown(shown, { view: view.data, subject }) : shown
  if (next !== shown) setShown(next)
  return {
    data: next?.view,
    /** Whether the preview is one of earlier rules: that of these rules is being computed or failed. */
    isOutdated: next?.subject !== subject,
    error: view.error ?? placement.error,
  }
}

/**
 * Returns a value, or the last one before it that was valid. Without one, returns `first`: a link, or an edit from before, may
 * be invalid from the start.
 */
function useLast<Value>(value: Value, isValid: boolean, first: Value): Value {
  const [last, setLast] = useState(isValid ? value : first)
  if (isValid && last !== value) setLast(value)
  return isValid ? value : last
}

/** Esc leaves a field. Outside fields, it discards the edit. A dialog closes by itself. */
function useDiscardKey(edit: RulesEdit): void {
  const { isEdited, discard } = edit
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || document.querySelector('dialog[open]')) return
      if (isTyping(event.target)) (event.target as HTMLElement).blur()
      else if (isEdited) discard()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [isEdited, discard])
}

function colorsOf(
  known: readonly string[],
  rules: readonly RuleJson[],
  view: PreviewView | undefined,
): ReadonlyMap<string, number> {
  return tierColors([
    ...known,
    ...rules.flatMap((rule) => Object.keys(replicantsOf(rule))),
    ...Object.keys(view?.buckets?.tiers ?? {}),
  ])
}

function Title({
  dataSource,
  inventory,
  edit,
  onExplainLacking,
}: {
  readonly dataSource: string
  readonly inventory: InventoryFigures
  readonly edit: RulesEdit
  onExplainLacking(): void
}) {
  const [isHistoryOpen, setIsHistoryOpen] = useState(false)
  const figures = inventory.datasources.find(({ name }) => name === dataSource)
  const { data: last } = useLastRuleChange(dataSource)
  const { data: caller } = useCaller(dataSource)
  return (
    <div className="title">
      <h1>
        <Name>{dataSource}</Name>
      </h1>
      <p className="dim numbers">
        {figures && <Figures {...figures} onExplainLacking={onExplainLacking} />}
        {last && (
          <>
            {' · '}last rule change by <Name>{last.auditInfo.author || last.auditInfo.identity}</Name>,{' '}
            {formatAge(inventory.now - Date.parse(last.auditTime))}
            {last.auditInfo.comment && (
              <>
                : “<Name>{last.auditInfo.comment}</Name>”
              </>
            )}
          </>
        )}
        {last && (
          <>
            {' · '}
            <button type="button" className="link" onClick={() => setIsHistoryOpen(true)}>
              All rule changes
            </button>
          </>
        )}
        {hasCluster() &&
          caller?.datasource?.write === false &&
          ' · read-only: you can preview edits, but not apply them'}
      </p>
      {isHistoryOpen && (
        <RuleHistory dataSource={dataSource} edit={edit} onClose={() => setIsHistoryOpen(false)} />
      )}
    </div>
  )
}

function Figures({
  segments,
  bytes,
  overshadowed,
  unserved,
  underReplicated,
  bytesByTier,
  onExplainLacking,
}: Omit<ServedFigures, 'name' | 'extent'> & {
  onExplainLacking(): void
}) {
  const tiers = Object.keys(bytesByTier).length
  const lacking = [
    unserved > 0 && `${formatCount(unserved)} not served`,
    underReplicated > 0 && `${formatCount(underReplicated)} under-replicated`,
  ].filter(Boolean)
  return (
    <>
      {countOf(segments, 'segment')} · {formatBytes(bytes)}
      {tiers > 0 && ` · ${countOf(tiers, 'tier')}`}
      {overshadowed > 0 && ` · ${formatCount(overshadowed)} overshadowed`}
      {lacking.length > 0 && (
        <>
          {' · '}
          <span className="future-text">{lacking.join(', ')}</span>{' '}
          <button type="button" className="link" onClick={onExplainLacking}>
            Why?
          </button>
        </>
      )}
    </>
  )
}
