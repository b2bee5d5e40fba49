import type { AnsweredDatasource, AnsweredStep } from '@svc/domain/preview'
import type { Table } from '../terminal/index.ts'
import { countOf } from '../terminal/index.ts'
import type { AnsweredPreview } from './preview-text.ts'

// More times than this are summed up by week, month, or year.
const maxPeriods = 20
const weekMs = 7 * 86_400_000

/** What happens to a datasource within a period: copies loaded and dropped by tier, and segments marked unused. */
interface Changes {
  readonly copies: Map<string, { loaded: number; dropped: number }>
  unused: number
}

/** One row per future time at which something changes, or per week, month, or year if there are many. */
export function stepsTable({ summary: { steps = [] } }: AnsweredPreview): Table {
  const labels = [(now: string) => now, weekOf, monthOf, yearOf]
  const labelOf =
    labels.find((label) => new Set(steps.map(({ now }) => label(now))).size <= maxPeriods) ?? yearOf
  return { header: ['time', 'datasource', 'changes'], rows: rowsOf(steps, labelOf) }
}

const monthOf = (now: string): string => now.slice(0, 7)
const yearOf = (now: string): string => now.slice(0, 4)

function rowsOf(steps: readonly AnsweredStep[], labelOf: (instant: string) => string): string[][] {
  const periods = new Map<string, Map<string, Changes>>()
  for (const { now, datasources } of steps) {
    const label = labelOf(now)
    const period = periods.get(label) ?? new Map<string, Changes>()
    periods.set(label, period)
    for (const [dataSource, summary] of Object.entries(datasources)) {
      const changes = period.get(dataSource) ?? { copies: new Map(), unused: 0 }
      period.set(dataSource, changes)
      addTo(changes, summary)
    }
  }
  return [...periods].flatMap(([label, period]) =>
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
  return [...ofTiers, ...(unused > 0 ? [`${countOf(unused, 'segment')} marked unused`] : [])].join(', ')
}

/** The Monday of the week, for example `week of 2026-06-15`. */
function weekOf(now: string): string {
  // The epoch began on a Thursday.
  const offsetMs = 4 * 86_400_000
  const monday = Math.floor((Date.parse(now) - offsetMs) / weekMs) * weekMs + offsetMs
  return `week of ${new Date(monday).toISOString().split('T')[0]}`
}
