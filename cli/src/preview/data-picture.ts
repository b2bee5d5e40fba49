import type { AnsweredBuckets } from '@svc/domain/preview'
import { formatInstant, parseInstant } from '@svc/domain/time'
import { escapeInvisible } from '@svc/domain/validation'
import type { RuleBands } from '../rules/index.ts'
import { formatBytes, shortName } from '../terminal/index.ts'

/** Colors for parts of the picture. */
export type Paint = (color: 'before' | 'after' | 'lost', text: string) => string

/** Width of the labels before the bars. */
const labelWidth = 22
const heights = '▁▂▃▄▅▆▇█'
const noBytes = '.'

/** The maximum number of buckets that fit into a line of characters. */
export function bucketsIn(columns: number): number {
  return Math.max(20, columns - labelWidth)
}

/**
 * Bytes over time by tier, before and after a change, with one scale for all tiers. The line `lost` marks data that is
 * marked as unused (x) or used without a replica (!). Without color, the picture shows the same.
 */
export function dataPicture(
  buckets: AnsweredBuckets,
  bands: RuleBands | undefined,
  columns: number,
  paint: Paint,
): string[] {
  const { count, tiers, unqueryable, unused } = buckets
  const each = Math.max(1, Math.floor(bucketsIn(columns) / count))
  const line = (label: string, symbols: readonly string[]): string =>
    `${label.padEnd(labelWidth)}${symbols.map((symbol) => symbol.repeat(each)).join('')}`
  const max = maxOf(buckets)
  const bars = (label: string, bytes: readonly number[]): string =>
    line(
      label,
      bytes.map((one) => (one === 0 ? noBytes : heights[Math.ceil((one / max) * 8) - 1]!)),
    )
  const ofTiers = Object.entries(tiers).flatMap(([tier, { before, after }]) => [
    paint('before', bars(`${short(tier)} before`, before)),
    paint('after', bars(`${' '.repeat(short(tier).length)} after`, after)),
  ])
  const lost = unqueryable.map((bytes, bucket) => (unused[bucket]! > 0 ? 'x' : bytes > 0 ? '!' : noBytes))
  return [
    `${' '.repeat(labelWidth)}${axisOf(buckets, count * each)}`,
    ...ofTiers,
    ...(hasLoss(buckets) ? [paint('lost', line('lost', lost))] : []),
    ...(bands === undefined ? [] : [line('rule', bands.symbols)]),
    '',
  ]
}

/** What the characters of the picture mean, one line each. */
export function pictureLegend(buckets: AnsweredBuckets, bands: RuleBands | undefined): string[] {
  return [
    `█ ${formatBytes(maxOf(buckets))} of replicas per ${widthText(buckets.widthMs)}, ${noBytes} none`,
    ...(hasLoss(buckets) ? ['x marked as unused, ! used without a replica'] : []),
    ...(bands?.legend ?? []).map(({ symbol, text }) => `${symbol} ${text}`),
  ]
}

const hasLoss = ({ unqueryable, unused }: AnsweredBuckets): boolean =>
  [...unqueryable, ...unused].some((bytes) => bytes > 0)

/** The most bytes in a bucket of a tier. */
export function maxOf({ tiers }: AnsweredBuckets): number {
  return Object.values(tiers).reduce(
    (max, { before, after }) => [...before, ...after].reduce((most, bytes) => Math.max(most, bytes), max),
    0,
  )
}

/** The width of a bucket, for example `day` or `2 days`. */
export function widthText(widthMs: number): string {
  const units: [ms: number, name: string][] = [
    [7 * 86_400_000, 'week'],
    [86_400_000, 'day'],
    [3_600_000, 'hour'],
    [60_000, 'minute'],
  ]
  const [ms, name] = units.find(([unitMs]) => widthMs % unitMs === 0) ?? [1, 'millisecond']
  return widthMs === ms ? name : `${widthMs / ms} ${name}s`
}

/** The first instants of the axis and its end, as days. */
function axisOf({ start, widthMs, count }: AnsweredBuckets, columns: number): string {
  const first = formatInstant(parseInstant(start)).split('T')[0]!
  const last = formatInstant(parseInstant(start) + widthMs * count).split('T')[0]!
  const middle = formatInstant(parseInstant(start) + Math.floor(count / 2) * widthMs).split('T')[0]!
  const at = Math.floor((columns * Math.floor(count / 2)) / count)
  const space = columns - last.length
  const label = at > first.length && at + middle.length < space ? `${first.padEnd(at)}${middle}` : first
  return `${label.padEnd(space)}${last}`
}

// Leaves room for the word before.
const short = (tier: string): string => shortName(escapeInvisible(tier), labelWidth - ' before '.length)
