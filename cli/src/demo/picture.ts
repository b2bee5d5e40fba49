import { formatInstant, type Interval } from '@svc/domain/time'
import {
  type BarCharacters,
  countOf,
  formatBytes,
  formatSeconds,
  plainBar,
  progressBar,
  solidBar,
} from '../terminal/index.ts'
import { type ClusterView, copiesOf, type TierView } from './cluster-view.ts'

/** The characters of a picture. */
export interface Symbols {
  readonly none: string
  readonly one: string
  readonly more: string
  /** For days that share a character but differ. */
  readonly mixed: string
  readonly bar: BarCharacters
}

/** For terminals. */
export const blockSymbols: Symbols = { none: '·', one: '▄', more: '█', mixed: '▒', bar: solidBar }

/** For plain text. */
export const plainSymbols: Symbols = { none: '.', one: '1', more: '2', mixed: '+', bar: plainBar }

/** How to draw. */
export interface PictureOptions {
  /** Width in characters. */
  readonly columns: number
  readonly symbols: Symbols
  /** Applies the color of a tier. */
  readonly paint: (tier: string, text: string) => string
}

const labelWidth = 15
const barWidth = 20
const legendWidth = 2 + labelWidth

/** Min width of a picture, in characters. */
export const minColumns = 68

/** The entire picture: a table of the tiers and deep storage, and a timeline of each tier. */
export function pictureOf(
  view: ClusterView,
  days: readonly Interval[],
  { columns, symbols, paint }: PictureOptions,
): string[] {
  const daysEach = daysPerCharacter(days.length, columns - legendWidth)
  // No step loads more than two copies of everything on a tier.
  const maxBytes = 2 * view.deepStorage.sizeBytes
  const label = (text: string) => `  ${text.padEnd(labelWidth)}`
  const row = (name: string, servers: string, copies: string, bytes: string) =>
    `${label(name)}${servers.padStart(7)}${copies.padStart(10)}${bytes.padStart(11)}`
  return [
    row('tier', 'servers', 'segments', 'bytes'),
    ...view.tiers.map((tier) => {
      const bar = progressBar(maxBytes === 0 ? 0 : tier.sizeBytes / maxBytes, barWidth, symbols.bar)
      const numbers = row(
        tier.tier,
        String(tier.servers),
        String(copiesOf(tier)),
        formatBytes(tier.sizeBytes),
      )
      return `${numbers}  ${paint(tier.tier, bar)}`
    }),
    row('deep storage', '', String(view.deepStorage.files), formatBytes(view.deepStorage.sizeBytes)),
    '',
    label('') + monthRuler(days, daysEach),
    ...view.tiers.map(
      (tier) => label(tier.tier) + paint(tier.tier, timelineOf(tier.copiesByDay, daysEach, symbols)),
    ),
    ...legendOf(daysEach, symbols).map((line) => label('') + line),
  ]
}

/** The state in one line: the segments of each tier and the load queues. */
export function stateLine(view: ClusterView): string {
  const tiers = view.tiers.map((tier) => `${tier.tier} ${copiesOf(tier)}`).join(', ')
  return `${tiers} segments; ${queueText(view)}`
}

/** The load queues and the load status. */
export function queueText({ queuedLoads, queuedDrops, loadedPercent }: ClusterView): string {
  const loaded = loadedPercent === undefined ? '' : `; load status ${Math.floor(loadedPercent)}%`
  return `queued: ${countOf(queuedLoads, 'load')}, ${countOf(queuedDrops, 'drop')}${loaded}`
}

/** The number of days per character that makes a timeline fit the width. */
export function daysPerCharacter(days: number, width: number): number {
  return Math.max(1, Math.ceil(days / Math.max(1, width)))
}

/** A timeline with one character per `daysEach` days. */
export function timelineOf(
  copiesByDay: readonly TierView['copiesByDay'][number][],
  daysEach: number,
  symbols: Symbols,
): string {
  let text = ''
  for (let start = 0; start < copiesByDay.length; start += daysEach) {
    const shared = copiesByDay.slice(start, start + daysEach)
    const [first = 0] = shared
    if (shared.some((copies) => copies !== first)) text += symbols.mixed
    else text += first === 0 ? symbols.none : first === 1 ? symbols.one : symbols.more
  }
  return text
}

/** The months at the position of their first day, as far as they fit. The rest of a month before them may have no room. */
export function monthRuler(days: readonly Interval[], daysEach: number): string {
  const monthOf = ({ start }: Interval): string => formatInstant(start).slice(0, 7)
  const labels = days
    .map((day, index) => ({ month: monthOf(day), place: Math.floor(index / daysEach) }))
    .filter(({ month }, index) => index === 0 || month !== monthOf(days[index - 1]!))
  const [first, second] = labels
  const width = Math.ceil(days.length / daysEach)
  if (first && second && second.place <= first.month.length && second.place + second.month.length <= width)
    labels.shift()
  let ruler = ''
  for (const { month, place } of labels)
    if (ruler === '' || place > ruler.length) ruler = ruler.padEnd(place) + month
  return ruler
}

function legendOf(daysEach: number, { none, one, more, mixed }: Symbols): string[] {
  const isShared = daysEach > 1
  return [
    `${none} none  ${one} one replica  ${more} two replicas${isShared ? `  ${mixed} mixed` : ''}`,
    `(one character = ${isShared ? `${daysEach} days` : 'one day'})`,
  ]
}

/** The rules as JSON, one per line. */
export function rulesText(rules: readonly object[]): string[] {
  return rules.map((rule, index) => {
    const [begin, end] = [index === 0 ? '[' : ' ', index === rules.length - 1 ? ']' : ',']
    return `${begin}${JSON.stringify(rule)}${end}`
  })
}

/** A table of the steps and their durations. */
export function stepTimes(steps: readonly { readonly title: string; readonly tookMs: number }[]): string[] {
  return steps.map(({ title, tookMs }) => `${formatSeconds(tookMs).padStart(8)}  ${title}`)
}
