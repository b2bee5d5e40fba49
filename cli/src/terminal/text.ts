import { styleText } from 'node:util'

/** A text in bold if standard output is a terminal that supports it. */
export function emphasized(text: string): string {
  return styleText('bold', text, { stream: process.stdout })
}

/** A text in color if standard output is a terminal that supports it. */
export function painted(color: 'gray' | 'cyan' | 'red', text: string): string {
  return styleText(color, text, { stream: process.stdout })
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

/** A number with thousands separators, for example `20,000`. */
export function formatCount(count: number): string {
  return count.toLocaleString('en-US')
}

/** A number of things, for example `1 segment` or `20,000 segments`. */
export function countOf(count: number, thing: string, things = `${thing}s`): string {
  return `${formatCount(count)} ${count === 1 ? thing : things}`
}

/** A number of bytes, for example `185.4 kB`. */
export function formatBytes(sizeBytes: number): string {
  if (sizeBytes < 1000) return `${sizeBytes} B`
  const units = ['kB', 'MB', 'GB', 'TB', 'PB']
  let value = sizeBytes
  let unit = ''
  while (value >= 1000 && units.length > 0) {
    value /= 1000
    unit = units.shift()!
  }
  return `${value.toFixed(1)} ${unit}`
}
