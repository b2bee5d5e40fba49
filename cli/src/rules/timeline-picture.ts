import { describeWantedCopies, RegionFinder, type Rule, regionOf } from '@svc/domain/rules'
import { formatInstant, type Interval } from '@svc/domain/time'
import { pieceWidths } from './piece-widths.ts'

/** What a picture of rules shows. */
export interface TimelinePicture {
  /** The rules in the order in which they are tried, the defaults of the cluster after those of the datasource. */
  readonly rules: readonly Rule[]
  /** The cluster's time in epoch milliseconds. */
  readonly now: number
  /** Time that is to be within the picture beside what the rules name. */
  readonly data?: Interval | undefined
  /** Characters of a line. */
  readonly columns: number
}

const yearMs = 365 * 86_400_000
const leastBars = 20
// A day and a space: pieces that are stretched tell when they begin.
const widthOfDay = 11

/**
 * What the rules want at which time, a line for each tier: the number of copies, `+` for more than 9, `.` for none; `b`
 * where data go to every server, `x` where they are dropped, and the rule that says so, counted from 0. However short
 * the time between two moments that matter, it is seen while there are characters for all: where that takes it, the picture
 * is not to scale, and says so.
 */
export function timelinePicture({ rules, now, data, columns }: TimelinePicture): string[] {
  const labels = [...rules.flatMap((rule) => [...tiersOf(rule).keys()]), 'every server']
  const width = labels.reduce((longest, { length }) => Math.max(longest, length), 0) + 2
  const bars = Math.max(leastBars, columns - width)
  const edges = edgesOf(rules, now, data)
  const { widths, isToScale } = pieceWidths(edges, bars, widthOfDay)
  const finder = new RegionFinder(rules.map((rule) => regionOf(rule, now)))
  // Rules change at edges only: the smallest segment that there could be, at the start of a piece, stands for all of it.
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

/** The days on which pieces begin, where there is room for them, and the last day. */
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
 * The moments that rules and data name, and now, with one before the first and one after the last of them; around now
 * where there are no others.
 */
function edgesOf(rules: readonly Rule[], now: number, data: Interval | undefined): number[] {
  const named = rules.flatMap((rule) => {
    const { startFrom, startBefore, endAfter, endUpTo } = regionOf(rule, now)
    return [startFrom, startBefore, endAfter, endUpTo]
  })
  const moments = [...named, now, ...(data ? [data.start, data.end] : [])].filter(
    (moment) => Math.abs(moment - now) < 1000 * yearMs,
  )
  const first = moments.reduce((least, moment) => Math.min(least, moment), now)
  const last = moments.reduce((most, moment) => Math.max(most, moment), now)
  const margin = first === last ? yearMs : Math.ceil((last - first) / 8)
  return [...new Set([first - margin, ...moments, last + margin])].sort((a, b) => a - b)
}
