import { formatBytes, formatCount, formatDuration, type Table } from '../terminal/index.ts'

/** How long a change takes to load, as returned by the coordinator. Null durations are unknown. */
export interface AnsweredLoadTime {
  readonly durationMs: number | null
  readonly tiers: Readonly<
    Record<
      string,
      {
        readonly durationMs: number | null
        readonly limitedBy: string | null
        readonly loads: number
        readonly bytes: number
        readonly servers: number
        readonly measuredServers: number
      }
    >
  >
  readonly assumptions: readonly string[]
}

/** How long loading takes, in a sentence; none if nothing is loaded. */
export function loadTimeSentences({ durationMs, tiers }: AnsweredLoadTime): string[] {
  const unknown = Object.entries(tiers).filter((entry) => entry[1].durationMs === null)
  if (Object.keys(tiers).length === 0) return []
  if (durationMs !== null) return [`Loading takes about ${formatDuration(durationMs)} (estimated).`]
  const names = unknown.map(([name]) => name).join(', ')
  return [`How long loading takes is unknown: no loads have been measured in tier [${names}] yet.`]
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
