import { styleText } from 'node:util'

/** A text in bold if standard output is a terminal that supports it. */
export function emphasized(text: string): string {
  return styleText('bold', text, { stream: process.stdout })
}

/** A text in color if standard output is a terminal that supports it. */
export function painted(color: 'gray' | 'cyan' | 'red', text: string): string {
  return styleText(color, text, { stream: process.stdout })
}

/** A text from users in one line, without control characters: it may contain control sequences for the terminal. */
export function inOneLine(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ').trim()
}

/** A duration in seconds, for example `1.2 s`. */
export function formatSeconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`
}

/** Milliseconds since the command was started, including installation. */
export function sinceCommandMs(): number {
  // If the ./svc script installed anything first, it passes its start time, in seconds.
  const startedAt = Number(process.env.SVC_STARTED_AT) * 1000
  return Date.now() - (startedAt > 0 ? startedAt : performance.timeOrigin)
}

// Enough to recognize what the others are.
const maxListed = 5

/** Names for a sentence: the first ones, and how many more there are. */
export function listOf(names: readonly string[]): string {
  const more = names.length - maxListed
  return `[${names.slice(0, maxListed).join('], [')}]${more > 0 ? ` and ${more} more` : ''}`
}

/** An instant without the parts that are zero, for example `2026-01-31` or `2026-01-31T06:00Z`. */
export function shortInstant(instant: string): string {
  return instant.replace(/T00:00:00\.000Z$/, '').replace(/:00\.000Z$/, 'Z')
}

/** An interval in short form. */
export function shortInterval(interval: string): string {
  return interval.split('/').map(shortInstant).join('/')
}

/** A name of at most `max` characters, the last of which shows that it is shortened. */
export function shortName(name: string, max: number): string {
  return name.length <= max ? name : `${name.slice(0, max - 1)}…`
}

const defaultColumns = 80

/** The number of characters in a line of a terminal; 80 if the stream is not a terminal, or if its width is unknown. */
export function columnsOf(stream: { readonly columns?: number | undefined }): number {
  // A terminal without a size reports 0.
  return stream.columns || defaultColumns
}
