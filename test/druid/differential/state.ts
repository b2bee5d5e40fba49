import { payloadOf, type Segment, type SegmentPayload, segmentId, virtualLoadSpec } from '@svc/domain/segment'
import type { Choices } from './choices.ts'

/** A data server that both systems should have. */
export interface WantedServer {
  readonly name: string
  readonly type: 'historical' | 'broker'
  readonly tier: string
  readonly size: number
  readonly priority: number
}

/** A segment that both metadata stores should contain. */
export interface StoredSegment {
  readonly payload: SegmentPayload
  readonly used: boolean
  /** ISO 8601. */
  readonly created: string
}

/** The random state that a sequence of requests starts from. */
export interface State {
  readonly dataSources: readonly string[]
  readonly servers: readonly WantedServer[]
  readonly segments: readonly StoredSegment[]
  /** Whether every tier has one server at most, so that nothing about the placement is random. */
  readonly isPlacementFixed: boolean
}

const dayMs = 86_400_000
const mib = 1024 * 1024
const names = ['wikipedia', 'koalas', 'web-events', 'a.b_c', 'Wikipedia', 'über', '1234']
/** The tier of rules that name none. It always has a server. */
export const defaultTier = '_default_tier'
export const tiers = [defaultTier, 'hot', 'cold'] as const
const versions = ['2026-01-01T00:00:00.000Z', '2026-02-01T00:00:00.000Z', '2026-03-01T12:34:56.789Z']

/**
 * Returns versions that no other state has, so that its segments have other IDs: Druid keeps the first metadata of an ID
 * that it has seen while anything uses it.
 */
function ownVersions(choices: Choices): string[] {
  const afterMs = choices.whole(0, dayMs)
  return versions.map((version) => new Date(Date.parse(version) + afterMs).toISOString())
}

/** Returns a random state. `now` is in epoch milliseconds, `serverNames` are the possible names of servers. */
export function randomState(choices: Choices, now: number, serverNames: readonly string[]): State {
  const dataSources = choices.some(names, 3)
  if (dataSources.length === 0) dataSources.push('wikipedia')
  const isPlacementFixed = choices.chance(0.7)
  const possibleVersions = ownVersions(choices)
  const segments = dataSources.flatMap((dataSource) =>
    randomSegments(choices, { dataSource, possibleVersions, now }),
  )
  const servers: WantedServer[] = []
  for (const tier of tiers) {
    const isEmpty = tier !== defaultTier && choices.chance(0.2)
    const count = isEmpty ? 0 : isPlacementFixed ? 1 : choices.whole(1, 2)
    for (let number = 0; number < count; number++) {
      servers.push({
        name: serverNames[servers.length] as string,
        type: 'historical',
        tier,
        size: 100_000 * mib,
        priority: choices.one([0, 0, 10, -1]),
      })
    }
  }
  return { dataSources, servers, segments, isPlacementFixed }
}

// Each version has intervals of one length, aligned to multiples of it, because Druid does not allow segments of
// the same version to overlap partially.
const lengthsMs = [dayMs, 7 * dayMs, 30 * dayMs, dayMs / 24]

function randomSegments(
  choices: Choices,
  {
    dataSource,
    possibleVersions,
    now,
  }: { dataSource: string; possibleVersions: readonly string[]; now: number },
): StoredSegment[] {
  const stored = new Map<string, StoredSegment>()
  for (const version of choices.some(possibleVersions, 3)) {
    const lengthMs = choices.one(lengthsMs)
    const intervals = choices.whole(1, 4)
    for (let index = 0; index < intervals; index++) {
      const near = now + choices.one([-400, -100, -40, -20, -10, -5, -3, -2, -1, 0, 5]) * dayMs
      const start = Math.floor(near / lengthMs) * lengthMs
      const partitions = choices.one([1, 1, 2, 3])
      const isUsed = choices.chance(0.85)
      for (let partitionNum = 0; partitionNum < partitions; partitionNum++) {
        const key = { dataSource, interval: { start, end: start + lengthMs }, version, partitionNum }
        const id = segmentId(key)
        // A second set of partitions of the same interval would have another number of them.
        if (partitionNum === 0 && stored.has(id)) break
        stored.set(id, randomSegment(choices, { ...key, id, partitions }, isUsed))
      }
    }
  }
  return [...stored.values()]
}

function randomSegment(
  choices: Choices,
  key: Omit<Segment, 'sizeBytes' | 'totalRows'>,
  used: boolean,
): StoredSegment {
  const segment = {
    ...key,
    sizeBytes: choices.one([1, 50, 500, 600]) * mib,
    totalRows: choices.one([1, 1000, 5_000_000]),
  }
  const payload = payloadOf(segment, {
    loadSpec: virtualLoadSpec,
    dimensions: choices.one(['', 'page', 'page,language']),
    metrics: choices.one(['', 'count']),
  })
  return {
    payload: choices.chance(0.2) ? { ...payload, lastCompactionState: compactionState } : payload,
    used,
    created: '2026-03-02T00:00:00.000Z',
  }
}

// As Druid writes it.
const compactionState = {
  partitionsSpec: { type: 'dynamic', maxRowsPerSegment: 5_000_000, maxTotalRows: 20_000_000 },
  dimensionsSpec: {
    dimensions: [
      { type: 'string', name: 'page', multiValueHandling: 'SORTED_ARRAY', createBitmapIndex: true },
    ],
    dimensionExclusions: [],
    includeAllDimensions: false,
    useSchemaDiscovery: false,
  },
  metricsSpec: [{ type: 'count', name: 'count' }],
  transformSpec: null,
  indexSpec: {
    bitmap: { type: 'roaring' },
    dimensionCompression: 'lz4',
    stringDictionaryEncoding: { type: 'utf8' },
    metricCompression: 'lz4',
    longEncoding: 'longs',
  },
  granularitySpec: {
    type: 'uniform',
    segmentGranularity: 'DAY',
    queryGranularity: { type: 'none' },
    rollup: false,
    intervals: [],
  },
}
