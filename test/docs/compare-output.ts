import { diff } from 'node:util'

/** A line of shown output that matches any number of lines. */
export const gap = '...'

/** Parts that differ between runs, and their placeholders in a comparison. */
const masks: readonly (readonly [RegExp, string])[] = [
  [/_[a-z]{8}_\d{4}-\d\d-\d\dT[\d:.]+Z/g, '_<id>'],
  [/(?<!\d)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.(?!000)\d{3}Z/g, '<time>'],
  [/\b[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4} GMT/g, '<time>'],
  [/\b[0-9a-f]{16}\b/g, '<long id>'],
  [/\b[0-9a-f]{8}\b/g, '<id>'],
  [/\(process \d{1,7}\)/g, '(process <pid>)'],
  [/([a-z]+:\/\/\S+) +\d{1,7}\b/g, '$1 <pid>'],
  [/(?<![\w/-])[\w-]{32}(?![\w/-])/g, '<password>'],
]

/**
 * Numbers that differ between runs: durations, and the size of the data of the demo, because it has current dates, which
 * change how well files are compressed.
 */
const measured =
  /\b\d+(\.\d+)?(?= (ms|s|min)\b)|(?<=\[)\d+(?=\] seconds)|(?<=still contains \d+ files \()\d+(\.\d+)?(?= kB\))/g

/** A line of an output without the parts that differ between runs: times, ids, passwords, and column widths. */
interface Line {
  readonly text: string
  /** The text without measured numbers. */
  readonly masked: string
  /** Number of digits before the decimal point of each measured number. */
  readonly digits: readonly number[]
}

function linesOf(output: string): Line[] {
  const masked = masks.reduce((text, [pattern, name]) => text.replace(pattern, name), output)
  return masked
    .trimEnd()
    .split('\n')
    .map((line) => {
      const text = line
        .replace(/[ \t]+/g, ' ')
        .replace(/─+/g, '─')
        .trim()
      const digits = (text.match(measured) ?? []).map((number) => String(Math.trunc(Number(number))).length)
      return { text, masked: text.replace(measured, '<number>'), digits }
    })
}

/** Whether lines are equal, except for measured numbers of about the same size. */
const areAlike = (one: Line | undefined, other: Line | undefined): boolean =>
  one?.masked === other?.masked &&
  (one?.digits ?? []).every((count, index) => Math.abs(count - (other?.digits[index] ?? 0)) <= 1)

/** Returns the texts to show of lines, without the measured numbers that do not matter. */
const textsOf = (lines: readonly Line[], others: readonly Line[]): string[] =>
  lines.map((line) => (others.some((other) => areAlike(line, other)) ? line.masked : line.text))

/**
 * Compares the output that a page shows with the actual output. Returns undefined if they match, otherwise
 * the differences line by line, `-` for the page and `+` for the actual output.
 */
export function outputDifference(shown: string, actual: string): string | undefined {
  const shownLines = linesOf(shown)
  const actualLines = linesOf(actual)
  if (matches(shownLines, actualLines)) return undefined
  return diff(textsOf(actualLines, shownLines), textsOf(shownLines, actualLines))
    .map(([side, line]) => `${side === 0 ? ' ' : side === 1 ? '+' : '-'} ${line}`)
    .join('\n')
}

/**
 * Returns the output that a page should show after a run: the shown output if it still matches; otherwise the
 * actual output, with as many lines before the first gap and after the last one as before.
 */
export function refreshedOutput(shown: string, actual: string): string {
  if (outputDifference(shown, actual) === undefined) return shown
  const actualLines = actual.trimEnd().split('\n')
  const shownLines = shown.split('\n')
  const before = shownLines.indexOf(gap)
  if (before === -1) return actualLines.join('\n')
  const after = shownLines.length - 1 - shownLines.lastIndexOf(gap)
  if (before + after >= actualLines.length) return actualLines.join('\n')
  return [...actualLines.slice(0, before), gap, ...actualLines.slice(actualLines.length - after)].join('\n')
}

/** Whether `actual` has the lines of `shown` in order, with any lines in place of each gap. */
function matches(shown: readonly Line[], actual: readonly Line[]): boolean {
  const parts = partsBetweenGaps(shown)
  const [first = [], ...others] = parts
  const last = others.pop()
  if (last === undefined) return areEqual(first, actual)
  if (first.length + last.length > actual.length || !startsAt(first, actual, 0)) return false
  const end = actual.length - last.length
  let position = first.length
  for (const part of others) {
    while (position + part.length <= end && !startsAt(part, actual, position)) position += 1
    position += part.length
    if (position > end) return false
  }
  return startsAt(last, actual, end)
}

function partsBetweenGaps(lines: readonly Line[]): Line[][] {
  const parts: Line[][] = [[]]
  for (const line of lines) {
    if (line.text === gap) parts.push([])
    else parts.at(-1)!.push(line)
  }
  return parts
}

function areEqual(some: readonly Line[], others: readonly Line[]): boolean {
  return some.length === others.length && startsAt(some, others, 0)
}

function startsAt(part: readonly Line[], lines: readonly Line[], position: number): boolean {
  return part.every((line, index) => areAlike(line, lines[position + index]))
}
