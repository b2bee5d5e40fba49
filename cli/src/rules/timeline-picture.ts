import { describeWantedCopies, RegionFinder, type Rule, regionOf } from '@svc/domain/rules'
import { formatInstant, type Interval } from '@svc/domain/time'
import { pieceWidths } from './piece-widths.ts'

/** What a timeline shows. */
export interface TimelinePicture {
  /** The rules in order of evaluation: those of the datasource, then the cluster defaults. */
  readonly rules: readonly Rule[]
  /** The cluster's time, in epoch milliseconds. */
  readonly now: number
  /** A time range to include in addition to the times in rules. */
  readonly data?: Interval | undefined
  /** Width of a line, in characters. */
  readonly columns: number
}

const yearMs = 365 * 86_400_000
const minBars = 20
// A date and a space, so that stretched sections have room for their start date.
const widthOfDay = 11

/**
 * A timeline of what rules do, with one line per tier: the number of copies, `+` for more than 9, `.` for none. Further
 * lines show `b` for data that is broadcast, `x` for data that is dropped, and the number of the matching rule, from 0.
 * Even short spans of time are visible as long as there are enough characters; if necessary, the timeline is not to
 * scale, and says so.
 */
export function timelinePicture({ rules, now, data, columns }: TimelinePicture): string[] {
  const labels = [...rules.flatMap((rule) => [...tiersOf(rule).keys()]), 'every server']
  const width = labels.reduce((max, { length }) => Math.max(max, length), 0) + 2
  const bars = Math.max(minBars, columns - width)
  const edges = edgesOf(rules, now, data)
  const { widths, isToScale } = pieceWidths(edges, bars, widthOfDay)
  const finder = new RegionFinder(rules.map((rule) => regionOf(rule, now)))
  // The matching rule changes only at edges, so the shortest possible interval at each start is representative.
  const applied = widths.flatMap((count, piece) =>
    count === 0 ? [] : Array<number>(count).fill(finder.firstHolding(edges[piece]!, edges[piece]! + 1)),
  )
  const inUse = [...new Set(applied)].flatMap((index) => rules[index] ?? [])
  const tiers = [...new Set(inUse.flatMap((rule) => [...tiersOf(rule).keys()]))].sort()
  const line = (label: string, symbol: (rule: Rule | undefined, index: number) => string): string =>
    `${label.padEnd(width)}${applied.map((index) => symbol(rules[index], index)).join('')}`
  const lineOf = (label: string, action: 'broadcast' | 'drop', symbol: string): string[] =>
    inUse.some((rule) => describeWantedCopies(rule).action === action)
      ? [line(label, (rule) => (rule && describeWantedCopies(rule).action === action ? symbol : '.'))]
      : []
  const at = widths.slice(0, edges.indexOf(now)).reduce((sum, count) => sum + count, 0)
  return [
    `${(isToScale ? '' : 'not to scale').padEnd(width)}${axisOf(edges, widths, bars)}`,
    `${' '.repeat(width)}${at < 3 ? `${' '.repeat(at)}|now` : 'now|'.padStart(at + 1)}`,
    ...tiers.map((tier) =>
      line(tier, (rule) => symbolOf(rule === undefined ? 0 : (tiersOf(rule).get(tier) ?? 0))),
    ),
    ...lineOf('every server', 'broadcast', 'b'),
    ...lineOf('unused', 'drop', 'x'),
    line('rule', (_, index) => (index < 0 ? ' ' : index.toString(36).slice(-1))),
  ]
}

/** The start dates of sections, as far as they fit, and the end date. */
function axisOf(edges: readonly number[], widths: readonly number[], bars: number): string {
  const last = dayOf(edges.at(-1)!)
  let axis = ''
  let column = 0
  widths.forEach((width, piece) => {
    const day = dayOf(edges[piece]!)
    const isFree = axis === '' || column > axis.length
    if (isFree && column + day.length < bars - last.length && !axis.endsWith(day))
      axis = `${axis.padEnd(column)}${day}`
    column += width
  })
  return `${axis.padEnd(bars - last.length)}${last}`
}

const dayOf = (instant: number): string => formatInstant(instant).split('T')[0]!

function tiersOf(rule: Rule): ReadonlyMap<string, number> {
  const wanted = describeWantedCopies(rule)
  return wanted.action === 'load' ? wanted.tieredReplicants : new Map()
}

const symbolOf = (copies: number): string => (copies === 0 ? '.' : copies > 9 ? '+' : String(copies))

/**
 * The instants in rules and data, and now, with a margin before the first and after the last one; if there is only now,
 * the margin is a year.
 */
function edgesOf(rules: readonly Rule[], now: number, data: Interval | undefined): number[] {
  const named = rules.flatMap((rule) => {
    const { startFrom, startBefore, endAfter, endUpTo } = regionOf(rule, now)
    return [startFrom, startBefore, endAfter, endUpTo]
  })
  const instants = [...named, now, ...(data ? [data.start, data.end] : [])].filter(
    (instant) => Math.abs(instant - now) < 1000 * yearMs,
  )
  const first = instants.reduce((min, instant) => Math.min(min, instant), now)
  const last = instants.reduce((max, instant) => Math.max(max, instant), now)
  const margin = first === last ? yearMs : Math.ceil((last - first) / 8)
  return [...new Set([first - margin, ...instants, last + margin])].sort((a, b) => a - b)
}
