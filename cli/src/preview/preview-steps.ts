import type { AnsweredDatasource, AnsweredStep } from '@svc/domain/preview'
import type { Table } from '../terminal/index.ts'
import { countOf } from '../terminal/index.ts'
import type { AnsweredPreview } from './preview-text.ts'

// More times than this are summed up by week, month, or year.
const maxPeriods = 20
const weekMs = 7 * 86_400_000

/** What happens to a datasource within a period: copies loaded and dropped by tier, and segments marked as unused. */
interface Changes {
  readonly copies: Map<string, { loaded: number; dropped: number }>
  unused: number
}

/**
 * One row per future time at which something changes, or per week, month, or year if there are many; the header says
 * which of these.
 */
export function stepsTable({ summary: { steps = [] } }: AnsweredPreview): Table {
  const [name, labelOf] =
    periods.find(([, label]) => new Set(steps.map(({ now }) => label(now))).size <= maxPeriods) ??
    periods.at(-1)!
  return { header: [name, 'datasource', 'changes'], rows: rowsOf(steps, labelOf) }
}

const monthOf = (now: string): string => now.slice(0, 7)
const yearOf = (now: string): string => now.slice(0, 4)

const periods: readonly (readonly [name: string, label: (now: string) => string])[] = [
  ['until', (now) => `${now.slice(0, 16)}Z`],
  ['week of', mondayOf],
  ['month', monthOf],
  ['year', yearOf],
]

function rowsOf(steps: readonly AnsweredStep[], labelOf: (instant: string) => string): string[][] {
  const changed = new Map<string, Map<string, Changes>>()
  for (const { now, datasources } of steps) {
    const label = labelOf(now)
    const period = changed.get(label) ?? new Map<string, Changes>()
    changed.set(label, period)
    for (const [dataSource, summary] of Object.entries(datasources)) {
      const changes = period.get(dataSource) ?? { copies: new Map(), unused: 0 }
      period.set(dataSource, changes)
      addTo(changes, summary)
    }
  }
  return [...changed].flatMap(([label, period]) =>
    [...period].flatMap(([dataSource, changes]) => {
      const what = describe(changes)
      return what === '' ? [] : [[label, dataSource, what]]
    }),
  )
}

function addTo(changes: Changes, { tiers, markedUnused }: AnsweredDatasource): void {
  changes.unused += markedUnused.segments
  for (const [tier, { loaded, dropped }] of Object.entries(tiers)) {
    const copies = changes.copies.get(tier) ?? { loaded: 0, dropped: 0 }
    changes.copies.set(tier, copies)
    copies.loaded += loaded.copies
    copies.dropped += dropped.copies
  }
}

function describe({ copies, unused }: Changes): string {
  const ofTiers = [...copies].flatMap(([tier, { loaded, dropped }]) => [
    ...(loaded > 0 ? [`${tier} +${loaded}`] : []),
    ...(dropped > 0 ? [`${tier} -${dropped}`] : []),
  ])
  return [...ofTiers, ...(unused > 0 ? [`${countOf(unused, 'segment')} marked as unused`] : [])].join(', ')
}

/** The Monday of the week. */
function mondayOf(now: string): string {
  // The epoch began on a Thursday.
  const offsetMs = 4 * 86_400_000
  const monday = Math.floor((Date.parse(now) - offsetMs) / weekMs) * weekMs + offsetMs
  return new Date(monday).toISOString().split('T')[0]!
}
