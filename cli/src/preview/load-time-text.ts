import type { AnsweredLoadTime, LoadPoint } from '@svc/domain/load-time'
import { formatBytes, formatCount, formatDuration, shortName, type Table } from '../terminal/index.ts'

/** How long loading takes, in a sentence; none if nothing is loaded. */
export function loadTimeSentences({ durationMs, tiers }: AnsweredLoadTime): string[] {
  const unknown = Object.entries(tiers).filter((entry) => entry[1].durationMs === null)
  if (Object.keys(tiers).length === 0) return []
  if (durationMs !== null) return [`Loading takes about ${formatDuration(durationMs)} (estimated).`]
  const names = unknown.map(([name]) => name).join(', ')
  const where = unknown.length === 1 ? 'tier' : 'tiers'
  return [`The load time is unknown: no loads have been measured in ${where} [${names}] yet.`]
}

/** One row per tier that loads replicas. */
export function loadTimeTable({ tiers }: AnsweredLoadTime): Table {
  return {
    header: ['tier', 'loads', 'bytes', 'takes about', 'limited by', 'servers', 'measured'],
    rows: Object.entries(tiers).map(([name, tier]) => [
      name,
      formatCount(tier.loads),
      formatBytes(tier.bytes),
      tier.durationMs === null ? 'unknown' : formatDuration(tier.durationMs),
      tier.limitedBy ?? '',
      formatCount(tier.servers),
      formatCount(tier.measuredServers),
    ]),
  }
}

const heights = '▁▂▃▄▅▆▇█'
const maxCurveLength = 40
// So that a line has at most 80 characters.
const maxNameLength = 38

/** How many replicas are loaded over time, as a line of bars for each tier. All tiers have the same scale of time. */
export function loadCurves({ tiers }: AnsweredLoadTime): string[] {
  const known = Object.entries(tiers).filter(([, { curve = [] }]) => curve.length > 1)
  const longestMs = known.reduce((max, [, { durationMs }]) => Math.max(max, durationMs ?? 0), 0)
  if (longestMs === 0) return []
  const maxKnownLength = known.reduce((max, [name]) => Math.max(max, name.length), 0)
  const width = Math.min(maxKnownLength, maxNameLength) + 2
  const lines = known.map(([name, { curve = [], loads }]) => {
    const bars = Array.from({ length: maxCurveLength }, (_, column) => {
      const loaded = loadsAt(curve, (longestMs * (column + 1)) / maxCurveLength)
      return heights[Math.min(7, Math.floor((8 * loaded) / loads))]
    })
    return `${shortName(name, maxNameLength).padEnd(width)}${bars.join('')}`
  })
  const end = formatDuration(longestMs)
  return [...lines, `${' '.repeat(width)}now${end.padStart(maxCurveLength - 'now'.length)}`]
}

/** How many replicas are loaded at a time: between two points, proportionally. */
function loadsAt(curve: readonly LoadPoint[], timeMs: number): number {
  const index = curve.findIndex(({ durationMs }) => durationMs >= timeMs)
  if (index < 0) return curve.at(-1)?.loads ?? 0
  const [before, after] = [curve[index - 1] ?? { durationMs: 0, loads: 0 }, curve[index]!]
  const widthMs = after.durationMs - before.durationMs
  const part = widthMs === 0 ? 1 : (timeMs - before.durationMs) / widthMs
  return before.loads + part * (after.loads - before.loads)
}
