import type { AnsweredBuckets } from '@svc/domain/preview'
import { formatInstant, parseInstant } from '@svc/domain/time'
import type { RuleBands } from '../rules/index.ts'
import { maxOf } from './data-picture.ts'
import { textHtml } from './text-html.ts'

const width = 960
const labelWidth = 150
const barsWidth = width - labelWidth
const rowHeight = 34
const gap = 6
const bandHeight = 22
const ticks = 6
const bandColors = ['#ddf4ff', '#fff8c5', '#dafbe1', '#ffeff7', '#fbefff', '#eaeef2']

/** Bytes over time by tier as an SVG picture: gray before the change, blue after it, with losses and rules below. */
export function previewSvg(buckets: AnsweredBuckets, bands: RuleBands | undefined): string {
  const parts: string[] = []
  let y = gap
  const max = maxOf(buckets)
  const xOf = (bucket: number): number => labelWidth + (bucket * barsWidth) / buckets.count
  for (const [tier, { before, after }] of Object.entries(buckets.tiers)) {
    for (const [label, bytes, color] of [
      [`${tier} before`, before, '#8c959f'],
      ['after', after, '#0969da'],
    ] as const) {
      parts.push(labelAt(label, y + rowHeight - 6), ...bars(bytes, max, y, color, xOf))
      parts.push(line(y + rowHeight))
      y += rowHeight + gap
    }
    y += gap
  }
  parts.push(labelAt('lost', y + bandHeight - 6))
  const colorOfLoss = (bucket: number): string | undefined =>
    buckets.unused[bucket]! > 0 ? '#cf222e' : buckets.unqueryable[bucket]! > 0 ? '#fb8f44' : undefined
  const losses = Array.from({ length: buckets.count }, (_, bucket) => colorOfLoss(bucket))
  for (const { from, to, value } of runsOf(losses))
    if (value !== undefined) parts.push(box(xOf(from), y, xOf(to) - xOf(from), bandHeight, value))
  y += bandHeight + gap
  if (bands !== undefined) {
    parts.push(labelAt('rule', y + bandHeight - 6))
    const symbols = bands.legend.map(({ symbol }) => symbol)
    for (const { from, to, value } of runsOf(bands.symbols)) {
      const color = bandColors[symbols.indexOf(value) % bandColors.length] ?? '#ffffff'
      const x = xOf(from)
      parts.push(box(x, y, xOf(to) - x, bandHeight, color))
      parts.push(`<text x="${fixed((x + xOf(to)) / 2)}" y="${y + 15}" text-anchor="middle">${value}</text>`)
    }
    y += bandHeight + gap
  }
  parts.push(...axis(buckets, y))
  const height = y + 22
  return `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="Bytes over time by tier, before and after" font-family="system-ui, sans-serif" font-size="13">\n${parts.join('\n')}\n</svg>`
}

function bars(
  bytes: readonly number[],
  max: number,
  y: number,
  color: string,
  xOf: (bucket: number) => number,
): string[] {
  return bytes.flatMap((one, bucket) => {
    if (one === 0) return []
    const height = Math.max(1, (one / max) * rowHeight)
    return [box(xOf(bucket), y + rowHeight - height, xOf(bucket + 1) - xOf(bucket) - 0.5, height, color)]
  })
}

function axis({ start, widthMs, count }: AnsweredBuckets, y: number): string[] {
  const first = parseInstant(start)
  return Array.from({ length: ticks }, (_, tick) => {
    const x = labelWidth + (tick * barsWidth) / (ticks - 1)
    const at = formatInstant(first + (tick * widthMs * count) / (ticks - 1)).split('T')[0]
    const anchor = tick === 0 ? 'start' : tick === ticks - 1 ? 'end' : 'middle'
    return `<text x="${fixed(x)}" y="${y + 14}" text-anchor="${anchor}" fill="#57606a">${at}</text>`
  })
}

interface Run<Value> {
  readonly from: number
  to: number
  readonly value: Value
}

/** Returns the ranges of equal neighbors. */
function runsOf<Value>(values: readonly Value[]): Run<Value>[] {
  const runs: Run<Value>[] = []
  values.forEach((value, index) => {
    const last = runs.at(-1)
    if (last !== undefined && last.value === value) last.to = index + 1
    else runs.push({ from: index, to: index + 1, value })
  })
  return runs
}

const fixed = (number: number): string => number.toFixed(1)

const box = (x: number, y: number, boxWidth: number, height: number, color: string): string =>
  `<rect x="${fixed(x)}" y="${fixed(y)}" width="${fixed(boxWidth)}" height="${fixed(height)}" fill="${color}"/>`

const line = (y: number): string =>
  `<line x1="${labelWidth}" y1="${y}" x2="${width}" y2="${y}" stroke="#d0d7de"/>`

const labelAt = (text: string, y: number): string =>
  `<text x="${labelWidth - 8}" y="${y}" text-anchor="end">${textHtml(text)}</text>`
