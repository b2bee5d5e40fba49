import { diff } from 'node:util'

/** A line of shown output that matches any number of lines. */
export const gap = '...'

/** Parts that differ between runs, and their placeholders in a comparison. */
const masks: readonly (readonly [RegExp, string])[] = [
  [/_[a-z]{8}_\d{4}-\d\d-\d\dT[\d:.]+Z/g, '_<id>'],
  [/(?<!\d)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.(?!000)\d{3}Z/g, '<time>'],
  [/\b[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4} GMT/g, '<time>'],
  [/\b[0-9a-f]{8}([0-9a-f]{8})?\b/g, '<id>'],
  [/\(process \d+\)/g, '(process <pid>)'],
  [/\[\d+\] seconds/g, '[<duration>]'],
  [/\b\d+(\.\d+)? (ms|s|min)\b/g, '<duration>'],
  // The demo ingests data with current dates, and the dates change how well files are compressed.
  [/(?<=still contains \d+ files) \(\d+(\.\d+)? kB\)/g, ' (<size>)'],
  [/([a-z]+:\/\/\S+) +\d+\b/g, '$1 <pid>'],
  [/(?<![\w/-])[\w-]{32}(?![\w/-])/g, '<password>'],
]

/**
 * Returns the lines of an output without the parts that differ between runs: times, ids, passwords, and column widths.
 */
function maskedLines(output: string): string[] {
  const text = masks.reduce((masked, [pattern, name]) => masked.replace(pattern, name), output)
  const lines = text.split('\n').map((line) =>
    line
      .replace(/[ \t]+/g, ' ')
      .replace(/─+/g, '─')
      .trim(),
  )
  while (lines.at(-1) === '') lines.pop()
  return lines
}

/**
 * Compares the output that a page shows with the actual output. Returns undefined if they match, otherwise
 * the differences line by line, `-` for the page and `+` for the actual output.
 */
export function outputDifference(shown: string, actual: string): string | undefined {
  const shownLines = maskedLines(shown)
  const actualLines = maskedLines(actual)
  if (matches(shownLines, actualLines)) return undefined
  return diff(actualLines, shownLines)
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
function matches(shown: readonly string[], actual: readonly string[]): boolean {
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

function partsBetweenGaps(lines: readonly string[]): string[][] {
  const parts: string[][] = [[]]
  for (const line of lines) {
    if (line === gap) parts.push([])
    else parts.at(-1)!.push(line)
  }
  return parts
}

function areEqual(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && startsAt(some, others, 0)
}

function startsAt(part: readonly string[], lines: readonly string[], position: number): boolean {
  return part.every((line, index) => line === lines[position + index])
}
