import { describeWantedCopies, isInRegion, type Rule, regionOf } from '@svc/domain/rules'
import { formatInstant, type Interval } from '@svc/domain/time'

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

/**
 * What the rules want at which time, a line for each tier: the number of copies, `+` for more than 9, `.` for none; `b`
 * where data go to every server, `x` where they are dropped, and the rule that says so.
 */
export function timelinePicture({ rules, now, data, columns }: TimelinePicture): string[] {
  const labels = [...rules.flatMap((rule) => [...tiersOf(rule).keys()]), 'every server']
  const width = Math.max(...labels.map((label) => label.length)) + 2
  const bars = Math.max(leastBars, columns - width)
  const { start, end } = rangeOf(rules, now, data)
  const regions = rules.map((rule) => regionOf(rule, now))
  const applied = Array.from({ length: bars }, (_, bar) => {
    // The middle of what the character stands for, as the smallest segment that there could be.
    const instant = Math.floor(start + ((end - start) * (bar + 0.5)) / bars)
    return regions.findIndex((region) => isInRegion(region, instant, instant + 1))
  })
  const inUse = [...new Set(applied)].flatMap((index) => rules[index] ?? [])
  const tiers = [...new Set(inUse.flatMap((rule) => [...tiersOf(rule).keys()]))].sort()
  const line = (label: string, symbol: (rule: Rule | undefined, index: number) => string): string =>
    `${label.padEnd(width)}${applied.map((index) => symbol(rules[index], index)).join('')}`
  const lineOf = (label: string, action: 'broadcast' | 'drop', symbol: string): string[] =>
    inUse.some((rule) => describeWantedCopies(rule).action === action)
      ? [line(label, (rule) => (rule && describeWantedCopies(rule).action === action ? symbol : '.'))]
      : []
  const at = Math.min(bars - 1, Math.floor((bars * (now - start)) / (end - start)))
  return [
    `${' '.repeat(width)}${dayOf(start).padEnd(bars - dayOf(end).length)}${dayOf(end)}`,
    `${' '.repeat(width)}${at < 3 ? `${' '.repeat(at)}|now` : 'now|'.padStart(at + 1)}`,
    ...tiers.map((tier) =>
      line(tier, (rule) => symbolOf(rule === undefined ? 0 : (tiersOf(rule).get(tier) ?? 0))),
    ),
    ...lineOf('every server', 'broadcast', 'b'),
    ...lineOf('unused', 'drop', 'x'),
    line('rule', (_, index) => (index < 0 ? ' ' : (index + 1).toString(36).slice(-1))),
  ]
}

const dayOf = (instant: number): string => formatInstant(instant).split('T')[0]!

function tiersOf(rule: Rule): ReadonlyMap<string, number> {
  const wanted = describeWantedCopies(rule)
  return wanted.action === 'load' ? wanted.tieredReplicants : new Map()
}

const symbolOf = (copies: number): string => (copies === 0 ? '.' : copies > 9 ? '+' : String(copies))

/** From before the first to after the last moment that rules or data name; around now where they name none. */
function rangeOf(rules: readonly Rule[], now: number, data: Interval | undefined): Interval {
  const named = rules.flatMap((rule) => {
    const { startFrom, startBefore, endAfter, endUpTo } = regionOf(rule, now)
    return [startFrom, startBefore, endAfter, endUpTo]
  })
  const moments = [...named, now, ...(data ? [data.start, data.end] : [])].filter(
    (moment) => Math.abs(moment - now) < 1000 * yearMs,
  )
  const first = Math.min(...moments)
  const last = Math.max(...moments)
  const margin = first === last ? yearMs : Math.ceil((last - first) / 8)
  return { start: first - margin, end: last + margin }
}
