import { styleText } from 'node:util'

/** A text in bold when the output is a terminal that shows it. */
export function emphasized(text: string): string {
  return styleText('bold', text, { stream: process.stdout })
}

/** A duration as people read it, such as `1.2 s`. */
export function formatSeconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`
}

/** Milliseconds since the command was given, with the time that its preparation took. */
export function sinceCommandMs(): number {
  // The ./svc script tells when it began, in whole seconds, if it had to bring something first.
  const prepared = Number(process.env.SVC_STARTED_AT) * 1000
  return Date.now() - (prepared > 0 ? prepared : performance.timeOrigin)
}

/** A number of bytes as people read it, such as `185.4 kB`. */
export function formatBytes(sizeBytes: number): string {
  if (sizeBytes < 1000) return `${sizeBytes} B`
  const units = ['kB', 'MB', 'GB', 'TB']
  let value = sizeBytes
  let unit = ''
  while (value >= 1000 && units.length > 0) {
    value /= 1000
    unit = units.shift()!
  }
  return `${value.toFixed(1)} ${unit}`
}
