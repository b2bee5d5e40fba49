import { zstdCompressSync } from 'node:zlib'
import {
  bucketsOf,
  type CompleteInventory,
  decideRequest,
  decodeInventory,
  encodeInventory,
  formatDecided,
  maxBuckets,
  type PreviewServer,
  parsePreviewRequest,
  replicaLaneOf,
  servedFiguresOf,
  tierMovesOf,
  updateInventory,
} from '@svc/domain/preview'
import { defaultRulesName, parseRules } from '@svc/domain/rules'
import { finish } from '@svc/domain/steps'
import { describeMachine, medianOf } from './figures.ts'

/** Results of the benchmark of previews: milliseconds of CPU time of each step, and sizes in bytes. */
export interface PreviewsBenchmark {
  readonly machine: string
  readonly segments: number
  readonly dataSources: number
  readonly inventoryBytes: number
  readonly compressedBytes: number
  readonly steps: Readonly<Record<string, number>>
  readonly edits: { readonly median: number; readonly p95: number; readonly max: number }
}

const hourMs = 3_600_000
const now = Date.UTC(2026, 5, 15, 7)
const tiers = ['hot', '_default_tier', 'cold']
const partitions = 10
const serverCount = 999
const rulesWith = (months: number) => [
  { type: 'loadByPeriod', period: 'P7D', tieredReplicants: { hot: 2 } },
  { type: 'loadByPeriod', period: 'P90D', tieredReplicants: { _default_tier: 2 } },
  { type: 'loadByPeriod', period: `P${months}M`, tieredReplicants: { cold: 2 } },
  { type: 'loadForever', tieredReplicants: { cold: 1 } },
]

/**
 * Measures what the console does with an inventory of hourly segments: decode it, preview edits of a rule, and take an
 * update. With `serverBytes`, tiers may run out of space, so that runs of the coordinator are simulated.
 */
export function benchPreviews(
  segments: number,
  dataSources: number,
  rounds: number,
  serverBytes: number,
): PreviewsBenchmark {
  const steps: Record<string, number> = {}
  const measure = <Result>(name: string, run: () => Result): Result => {
    const before = process.cpuUsage()
    const result = run()
    const { user, system } = process.cpuUsage(before)
    steps[name] = Math.round((user + system) / 1000)
    return result
  }
  const original = inventoryOf(segments / dataSources, dataSources, serverBytes)
  const bytes = Buffer.concat(measure('encode', () => finish(encodeInventory(original))))
  const compressed = measure('compress', () => zstdCompressSync(bytes))
  const inventory = measure('decode', () => decodeInventory(Uint8Array.from(bytes).buffer))
  measure('figures for all datasources', () => finish(servedFiguresOf(inventory)))
  measure('first preview', () => previewOf(inventory, rulesWith(13)))
  measure('edit, assuming enough space', () => previewOf(inventory, rulesWith(12), true))
  const edits = Array.from({ length: rounds }, (_, round) => {
    measure('last edit', () => previewOf(inventory, rulesWith(14 + round)))
    return steps['last edit']!
  })
  const first = original.datasources[0]!
  const updateWith = (name: string, key: (index: number) => number): void => {
    const replaced = { ...first.segments, count: 100, key, forEachCopy: () => undefined }
    const update = { ...original, datasources: [{ ...first, segments: replaced }], removed: new Map() }
    const sent = Buffer.concat(finish(encodeInventory(update)))
    const updated = measure(name, () =>
      finish(updateInventory(inventory, decodeInventory(Uint8Array.from(sent).buffer))),
    )
    measure(`figures after the ${name}`, () => finish(servedFiguresOf(updated)))
    measure(`preview after the ${name}`, () => previewOf(updated, rulesWith(13)))
  }
  updateWith('update of 100 segments', (index) => index)
  updateWith('update with 100 new segments', (index) => first.segments.count + index)
  return {
    machine: describeMachine(),
    segments,
    dataSources,
    inventoryBytes: bytes.length,
    compressedBytes: compressed.length,
    steps,
    edits: {
      median: medianOf(edits),
      p95: edits.toSorted((a, b) => a - b)[Math.floor(edits.length * 0.95)]!,
      max: Math.max(...edits),
    },
  }
}

/** Computes everything that the screen of a datasource shows. The page first assumes that all replicas fit. */
function previewOf(inventory: CompleteInventory, rules: readonly object[], assumesSpace = false): void {
  const reader = { canRead: () => true, canReadTiers: true }
  const dataSource = 'datasource0'
  const request = finish(parsePreviewRequest({ rules: { [dataSource]: rules } }, now))
  const decided = finish(decideRequest(request, inventory, reader, { assumesSpace }))
  finish(formatDecided(decided, { full: false, offset: 0, limit: 1 }))
  const { outcome } = decided.result
  finish(tierMovesOf(outcome, dataSource))
  const buckets = finish(bucketsOf(outcome, new Set([dataSource]), maxBuckets))
  if (buckets) finish(replicaLaneOf(outcome, dataSource, buckets))
}

/** Returns hourly segments of ten partitions, with the replicas that the rules require. */
function inventoryOf(count: number, dataSources: number, serverBytes: number): CompleteInventory {
  let seed = 1
  const random = (max: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff
    return Math.floor((seed / 0x80000000) * max)
  }
  const servers = Array.from(
    { length: serverCount },
    (_, index): PreviewServer => ({
      name: `server-${index}.example:8083`,
      type: 'historical',
      tier: tiers[index % tiers.length]!,
      maxSizeBytes: serverBytes,
      decommissioning: false,
    }),
  )
  const hours = Math.ceil(count / partitions)
  // In the order of time, as the coordinator sends them.
  const startOf = (index: number): number => now - (hours - Math.floor(index / partitions)) * hourMs
  const datasources = Array.from({ length: dataSources }, (_, number) => {
    const sizes = Float64Array.from({ length: count }, () => 300_000_000 + random(400_000_000))
    const copies = Array.from({ length: count }, (_, index) => {
      const days = (now - startOf(index)) / (24 * hourMs)
      const tier = days < 7 ? 0 : days < 90 ? 1 : 2
      const [one, step] = [random(333), 1 + random(331)]
      const places = days < 396 ? [one, (one + step) % 333] : [one]
      return places.map((place) => place * tiers.length + tier)
    })
    return {
      segments: {
        dataSource: `datasource${number}`,
        count,
        start: startOf,
        end: (index: number) => startOf(index) + hourMs,
        sizeBytes: (index: number) => sizes[index]!,
        version: () => '2026-06-15T00:00:00.000Z',
        partitionNum: (index: number) => index % partitions,
        isOvershadowed: () => false,
        forEachCopy: (index: number, visit: (server: number) => void) => copies[index]!.forEach(visit),
      },
      columns: undefined,
      keep: () => undefined,
    }
  })
  const rules = new Map([[defaultRulesName, parseRules(rulesWith(13))]])
  return { now, servers, datasources, rules, isComplete: true }
}
