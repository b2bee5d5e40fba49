import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'

const dayMs = 86_400_000
const compactedState = {
  partitionsSpec: { type: 'range', partitionDimensions: ['page'], targetRowsPerSegment: 5_000_000 },
}

/** A name that would break a page that trusts it: HTML, quotes, and characters that turn the text around. */
export const hostileName = `<img src=x onerror=alert(1)>"'&amp; \u202eevil\u202c`

/**
 * Writes an inventory as if it were saved from a cluster with curl: 13 months of `wikipedia` in three tiers, three
 * smaller datasources, and one with a hostile name. Data ends today.
 */
export function writeSampleInventory(folder: string): void {
  mkdirSync(folder, { recursive: true })
  const write = (name: string, content: unknown) =>
    writeFileSync(path.join(folder, name), JSON.stringify(content))
  const today = Math.floor(Date.now() / dayMs) * dayMs
  write('servers.json', [
    ...serversOf('hot', 3, 12e9),
    ...serversOf('_default_tier', 4, 40e9),
    ...serversOf('cold', 2, 120e9),
  ])
  write('rules.json', {
    _default: [{ type: 'loadForever', tieredReplicants: { _default_tier: 1 } }],
    wikipedia: [
      { type: 'loadByPeriod', period: 'P7D', includeFuture: true, tieredReplicants: { hot: 2 } },
      { type: 'loadByPeriod', period: 'P90D', includeFuture: true, tieredReplicants: { _default_tier: 2 } },
      { type: 'loadByPeriod', period: 'P13M', includeFuture: true, tieredReplicants: { cold: 1 } },
      { type: 'dropForever' },
    ],
    clickstream: [
      { type: 'loadByPeriod', period: 'P1M', includeFuture: true, tieredReplicants: { hot: 1, cold: 1 } },
    ],
  })
  write('compaction.json', {
    compactionConfigs: [
      { dataSource: 'wikipedia', skipOffsetFromLatest: 'P14D', tuningConfig: compactedState },
    ],
    compactionTaskSlotRatio: 0.1,
    maxCompactionTaskSlots: 2,
  })
  write('config.json', {})
  write('segments.json', [
    ...segmentsOf('wikipedia', today, 390, 2, 95e6),
    ...segmentsOf('clickstream', today, 60, 1, 40e6),
    ...segmentsOf('flights', today - 30 * dayMs, 120, 1, 12e6),
    ...segmentsOf('koalas', today - 400 * dayMs, 30, 1, 3e6),
    ...segmentsOf(hostileName, today, 5, 1, 1e6),
  ])
}

const serversOf = (tier: string, count: number, maxSize: number): object[] =>
  Array.from({ length: count }, (_, index) => ({
    host: `${tier.replace('_default_tier', 'data')}-${index + 1}.example:8083`,
    tier,
    type: 'historical',
    priority: 0,
    currSize: 0,
    maxSize,
  }))

/** Returns daily segments before `endMs`. Their sizes change over the year, always in the same way. */
function* segmentsOf(
  dataSource: string,
  endMs: number,
  days: number,
  partitions: number,
  sizeBytes: number,
): Generator<object> {
  for (let day = 0; day < days; day += 1) {
    const start = endMs - (day + 1) * dayMs
    const share = 0.65 + 0.35 * Math.sin(day / 45) + 0.12 * Math.sin(day * 1.7)
    for (let partitionNum = 0; partitionNum < partitions; partitionNum += 1) {
      yield {
        overshadowed: false,
        dataSource,
        interval: `${new Date(start).toISOString()}/${new Date(start + dayMs).toISOString()}`,
        version: new Date(start + 2 * dayMs).toISOString(),
        loadSpec: { type: 'local', path: `/segments/${day}` },
        dimensions: 'page,user',
        metrics: 'added',
        shardSpec: { type: 'numbered', partitionNum, partitions },
        binaryVersion: 9,
        size: Math.round(sizeBytes * share),
        numRows: 1000,
        identifier: 'ignored',
        ...(day > 40 && (day < 150 || day > 178)
          ? { lastCompactionState: { ...compactedState, indexSpec: {} } }
          : {}),
      }
    }
  }
}
