import type { RuleJson } from '@svc/domain/rules'
import { countOf, formatBytes, formatCount } from '@svc/domain/text'
import { parseInstant } from '@svc/domain/time'
import { useMemo, useState } from 'react'
import { maxCompactionIntervals } from '../answers/index.ts'
import {
  type UnusedSegment,
  useCompactionOverTime,
  useInventory,
  useUnusedSegments,
} from '../cluster/index.ts'
import { IngestHint } from '../ingest-hint/index.ts'
import { hasCluster } from '../session/index.ts'
import { Empty, formatRange, Name, TierName } from '../ui/index.ts'
import type { PreviewView, TimeRange } from '../web-worker/index.ts'
import { compactionCells, type Lane, replicaCells, unusedBeyond, unusedCells } from './lane-cells.ts'
import type { BandRule } from './lanes.tsx'
import { boundariesOf } from './parsed-rules.ts'
import { ruleBands } from './rule-bands.ts'
import { applyingRulesText, partsOf, replicantsOf, ruleLabel } from './rule-text.ts'
import { Timeline } from './timeline.tsx'
import { UnusedSegments } from './unused-segments.tsx'
import type { RulesEdit } from './use-rules-edit.ts'
import { whyNoAxis } from './why-no-axis.ts'

interface PanelInput {
  readonly dataSource: string
  readonly view: PreviewView
  readonly range: TimeRange | undefined
  onRange(range: TimeRange | undefined): void
  readonly now: number
  readonly colors: ReadonlyMap<string, number>
  readonly edit: RulesEdit
  /** The rules that are stored now. */
  readonly stored: readonly RuleJson[]
  /** The rules that the timeline shows: those of the edit, as long as they are valid. */
  readonly rules: readonly RuleJson[]
  readonly defaults: readonly RuleJson[]
  readonly isFuture: boolean
  /** Whether the view is that of an earlier edit. */
  readonly isOutdated: boolean
  readonly onExplain: ((range: TimeRange) => void) | undefined
}

/** The timeline with its legend and the numbers of the bucket under the cursor. */
export function TimelinePanel(input: PanelInput) {
  const { view, range, onRange, now, colors, edit, stored, rules, defaults } = input
  const { isFuture, isOutdated, onExplain } = input
  const [cursor, setCursor] = useState<number>()
  const { data: compaction } = useCompactionOverTime(input.dataSource)
  const { data: unused, error: unusedError } = useUnusedSegments(input.dataSource)
  const { buckets } = view
  const shown = range ?? rangeOf(view)
  const bandsAfter = useBands(rules, defaults, now, shown, colors)
  const bandsNow = useBands(stored, defaults, now, shown, colors)
  const cells = useMemo(
    () =>
      buckets
        ? [
            ...replicaCells(buckets, view.replicas),
            ...compactionCells(buckets, compaction?.runs),
            ...unusedCells(buckets, unused),
          ]
        : [],
    [buckets, view.replicas, compaction?.runs, unused],
  )
  // A part of the axis that the user has zoomed to does not show everything.
  const beyond = useUnusedBeyond(range === undefined ? shown : undefined, unused)
  if (!buckets || !shown)
    return <NoAxis dataSource={input.dataSource} unused={unused} problem={unusedError?.message} />
  const start = parseInstant(buckets.start)
  const rangeAt = (bucket: number): TimeRange => ({
    start: start + bucket * buckets.widthMs,
    end: start + (bucket + 1) * buckets.widthMs,
  })
  return (
    <section
      aria-label="Timeline"
      className={`panel${isFuture || edit.isEdited ? ' previewed' : ''}${isOutdated ? ' outdated' : ''}`}
    >
      <Legend colors={colors} view={view} onRange={onRange} isZoomed={range !== undefined} />
      <Timeline
        view={view}
        range={shown}
        colors={colors}
        isEdited={edit.isEdited}
        bandsNow={bandsNow}
        bandsAfter={bandsAfter}
        cells={cells}
        cursor={cursor}
        onCursor={setCursor}
        onRange={onRange}
        onExplain={(bucket) => onExplain?.(rangeAt(bucket))}
      />
      <CursorDetails
        view={view}
        cursor={cursor}
        rangeAt={rangeAt}
        isOutdated={isOutdated}
        lanes={cells}
        colors={colors}
      />
      {compaction && !compaction.runs && <NoCompactionLane intervalCount={compaction.intervalCount} />}
      {beyond && <UnusedBeyond range={beyond} onShow={onExplain && (() => onRange(spanOf(shown, beyond)))} />}
      <UnusedSegments dataSource={input.dataSource} unused={unused ?? []} />
    </section>
  )
}

/** Returns the time of all unused data if some of it is outside the time axis. */
function useUnusedBeyond(
  axis: TimeRange | undefined,
  unused: readonly UnusedSegment[] | undefined,
): TimeRange | undefined {
  const { start, end } = axis ?? {}
  return useMemo(
    () => (start === undefined || end === undefined ? undefined : unusedBeyond({ start, end }, unused)),
    [start, end, unused],
  )
}

const NoCompactionLane = ({ intervalCount }: { readonly intervalCount: number }) => (
  <p className="hint">
    Compaction is not shown because there are {formatCount(intervalCount)} intervals (max{' '}
    {formatCount(maxCompactionIntervals)}).
  </p>
)

/** Says that unused data is outside the time axis. */
const UnusedBeyond = ({
  range,
  onShow,
}: {
  /** From the first to the last unused data. */
  readonly range: TimeRange
  /** Undefined for a preview of the coordinator, which has no parts, so there would be no bars. */
  readonly onShow: (() => void) | undefined
}) => (
  <p className="row hint">
    Some of the unused segments, which cover {formatRange(range)}, are outside this time axis.
    {onShow && (
      <button type="button" className="link" onClick={onShow}>
        Show them
      </button>
    )}
  </p>
)

const spanOf = (one: TimeRange, other: TimeRange): TimeRange => ({
  start: Math.min(one.start, other.start),
  end: Math.max(one.end, other.end),
})

const rangeOf = ({ buckets }: PreviewView): TimeRange | undefined => {
  if (!buckets) return undefined
  const start = parseInstant(buckets.start)
  return { start, end: start + buckets.widthMs * buckets.count }
}

/** What there is if there is no time axis: segments of all time, unused segments, or nothing yet. */
function NoAxis({
  dataSource,
  unused,
  problem,
}: {
  readonly dataSource: string
  /** Undefined if unknown. */
  readonly unused: readonly UnusedSegment[] | undefined
  /** Why the unused segments are unknown. */
  readonly problem: string | undefined
}) {
  const { data: inventory } = useInventory()
  const figures = inventory?.datasources.find(({ name }) => name === dataSource)
  const reason = whyNoAxis({ used: figures?.segments ?? 0, unused: unused?.length })
  if (reason === 'unknown')
    return problem === undefined ? (
      <Empty title="Loading…" />
    ) : (
      <Empty title="No used segments">
        <p>Failed to load the unused segments: {problem}</p>
      </Empty>
    )
  if (figures && reason === 'onlyUnbounded')
    return (
      <section aria-label="Timeline" className="panel">
        <h2>Data without time bounds</h2>
        <p>
          {countOf(figures.segments, 'segment')} ({formatBytes(figures.bytes)}) of <Name>{dataSource}</Name>{' '}
          {figures.segments === 1
            ? 'has no start or no end, for example because it covers all time. Only forever rules match such a segment.'
            : 'have no start or no end, for example because they cover all time. Only forever rules match such segments.'}
        </p>
        <UnusedSegments dataSource={dataSource} unused={unused ?? []} />
      </section>
    )
  if (reason === 'onlyUnused')
    return (
      <Empty title="No used segments">
        <UnusedSegments dataSource={dataSource} unused={unused ?? []} />
      </Empty>
    )
  return (
    <Empty title="No data yet">
      <p>
        <Name>{dataSource}</Name> has no segments. You can set rules before there is data.
        {hasCluster() && ' To load a file:'}
      </p>
      {hasCluster() && <IngestHint fileAndOptions="FILE --datasource NAME --timestamp COLUMN" />}
    </Empty>
  )
}

/** Returns the bands of rules, with the cluster defaults after the rules of the datasource. */
function useBands(
  own: readonly RuleJson[],
  defaults: readonly RuleJson[],
  now: number,
  range: TimeRange | undefined,
  colors: ReadonlyMap<string, number>,
): readonly BandRule[] {
  return useMemo(() => {
    const boundaries = boundariesOf(own, defaults, now)
    if (range === undefined || boundaries === undefined) return []
    return ruleBands(boundaries, range).map(({ start, end, index }) => {
      const rule = own[index] ?? defaults[index - own.length] ?? { type: 'loadForever' }
      const isDefault = index >= own.length
      return {
        start,
        end,
        label: ruleLabel({ index, isDefault, rule }),
        color: colors.get(Object.keys(replicantsOf(rule))[0] ?? ''),
        isDrop: partsOf(rule.type).action === 'drop',
        isDefault,
      }
    })
  }, [own, defaults, now, range, colors])
}

function Legend({
  colors,
  view,
  onRange,
  isZoomed,
}: {
  readonly colors: ReadonlyMap<string, number>
  readonly view: PreviewView
  onRange(range: TimeRange | undefined): void
  readonly isZoomed: boolean
}) {
  const tiers = Object.keys(view.buckets?.tiers ?? {}).sort()
  const extent = view.extent
  return (
    <div className="row between legend-row">
      <h2>Data by {spanName(view.buckets?.widthMs ?? 0)}</h2>
      <ul className="legend">
        {tiers.map((tier) => (
          <li key={tier}>
            <TierName tier={tier} colors={colors} />
          </li>
        ))}
        <li>
          <span className="mark line" aria-hidden="true" />
          served now
        </li>
        <li>
          <span className="mark loss" aria-hidden="true" />
          becomes unqueryable
        </li>
      </ul>
      <span className="row">
        {extent && (
          <button type="button" className="quiet" disabled={!isZoomed} onClick={() => onRange(undefined)}>
            Show all data
          </button>
        )}
        <span className="hint">Drag to zoom, click to explain</span>
      </span>
    </div>
  )
}

const spanNames: readonly (readonly [ms: number, name: string])[] = [
  [60_000, 'minute'],
  [3_600_000, 'hour'],
  [86_400_000, 'day'],
  [7 * 86_400_000, 'week'],
]

function spanName(widthMs: number): string {
  const exact = spanNames.find(([ms]) => ms === widthMs)
  if (exact) return exact[1]
  const [ms, name] = spanNames.findLast(([unit]) => widthMs % unit === 0 && unit <= 86_400_000) ?? [1, 'ms']
  return `${formatCount(widthMs / ms)} ${name}s`
}

/** The numbers of one bucket. The space for them is always there, so nothing jumps. */
function CursorDetails({
  view,
  cursor,
  rangeAt,
  isOutdated,
  lanes,
  colors,
}: {
  readonly view: PreviewView
  readonly cursor: number | undefined
  rangeAt(bucket: number): TimeRange
  readonly isOutdated: boolean
  readonly lanes: readonly Lane[]
  readonly colors: ReadonlyMap<string, number>
}) {
  const { buckets } = view
  if (cursor === undefined || !buckets || cursor >= buckets.count)
    return <p className="details hint">Hover over the timeline, or press ← and →, to see the numbers.</p>
  const { start, end } = rangeAt(cursor)
  const rules = !isOutdated && view.rules && applyingRulesText(view.rules, cursor)
  const lost = buckets.unqueryable[cursor]!
  return (
    <p className="details numbers" role="status">
      <b>{formatRange({ start, end })}</b>
      {Object.entries(buckets.tiers).map(([tier, { before, after }]) => (
        <span key={tier}>
          <TierName tier={tier} colors={colors} /> {formatBytes(after[cursor]!)}
          {before[cursor] !== after[cursor] && (
            <span className="dim"> (served {formatBytes(before[cursor]!)})</span>
          )}
        </span>
      ))}
      {lost > 0 && <span className="loss-text">{formatBytes(lost)} unqueryable</span>}
      {rules && <span className="dim">{rules}</span>}
      {lanes.map(({ label, cells, words }) => {
        const text = words[cells[cursor]!.kind]
        return (
          text && (
            <span key={label} className="dim">
              {text}
            </span>
          )
        )
      })}
    </p>
  )
}
