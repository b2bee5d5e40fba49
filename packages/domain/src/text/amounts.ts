// Creating the first format takes 20 ms, which would delay the start of every process. `toLocaleString` creates a format in
// each call, which takes 40 times as long as using it.
let counts: Intl.NumberFormat | undefined

/** A number with thousands separators, for example `20,000`. */
export function formatCount(count: number): string {
  if (Number.isInteger(count) && count >= 0 && count < 1000) return String(count)
  counts ??= new Intl.NumberFormat('en-US')
  return counts.format(count)
}

/** A number of things, for example `1 segment` or `20,000 segments`. */
export function countOf(count: number, thing: string, things = `${thing}s`): string {
  return `${formatCount(count)} ${count === 1 ? thing : things}`
}

let lists: Intl.ListFormat | undefined

/** A list in words: `a`, `a and b`, or `a, b, and c`. */
export function formatList(parts: readonly string[]): string {
  lists ??= new Intl.ListFormat('en-US')
  return lists.format(parts)
}

/** A number of bytes, for example `185.4 kB`. */
export function formatBytes(sizeBytes: number): string {
  if (sizeBytes < 1000) return `${sizeBytes} B`
  const units = ['kB', 'MB', 'GB', 'TB', 'PB']
  let value = sizeBytes
  let unit = ''
  // 999.95 and more would be rounded to 1000.0.
  while (value >= 999.95 && units.length > 0) {
    value /= 1000
    unit = units.shift()!
  }
  return `${value.toFixed(1)} ${unit}`
}
