import { parseSegmentId, type SegmentKey } from '@svc/domain/segment'
import {
  bucketOf,
  formatInterval,
  type Interval,
  joinIntervals,
  overlapsOf,
  parseInstant,
} from '@svc/domain/time'
import { analyzeTimeline } from '@svc/domain/timeline'
import type { ClusterClient } from '../client/index.ts'
import type { Plan } from '../declared-state/index.ts'
import { countOf } from '../terminal/index.ts'
import type { Condition } from '../waiting/index.ts'

/** A segment that is unused now. */
export interface UnusedSegment extends SegmentKey {
  /** When it was marked as unused; undefined if the cluster does not know. */
  readonly changedAt: number | undefined
}

/** The segments of one datasource after a plan was reverted. */
export interface RevertedDatasource {
  /** What the plan expected its rules to mark as unused. */
  readonly predicted: readonly SegmentKey[]
  /** What is used in these intervals now. */
  readonly used: readonly SegmentKey[]
  readonly unused: readonly UnusedSegment[]
}

/** Segments that a reverted plan has not restored. Segments that newer used ones replace are left out. */
interface UnrestoredSegments {
  /** Those that are unused since the plan was made, and that it does not list. */
  readonly later: readonly SegmentKey[]
  readonly unused: readonly SegmentKey[]
  /** Those that the cluster lists neither as used nor as unused. */
  readonly unlisted: readonly SegmentKey[]
}

/** Returns what was not restored of a datasource. `createdAt` is when the plan was made. */
export function unrestoredIn(
  { predicted, used, unused }: RevertedDatasource,
  createdAt: number,
): UnrestoredSegments {
  const keyOf = ({ interval, version, partitionNum }: SegmentKey): string =>
    `${formatInterval(interval)}/${version}/${partitionNum}`
  const keysOfList = (list: readonly SegmentKey[]): ReadonlySet<string> => new Set(list.map(keyOf))
  const [expected, present, existing] = [keysOfList(predicted), keysOfList(used), keysOfList(unused)]
  const later = overlapsOf(rangesOf(predicted), unused)
    .flat()
    .filter((one) => !expected.has(keyOf(one)) && one.changedAt !== undefined && one.changedAt >= createdAt)
  const missing = predicted.filter((one) => !present.has(keyOf(one)))
  // Druid lists segments by ID, so that the size of a partition set is unknown: it counts as complete.
  const all = [...used, ...later, ...missing].map((one) => ({ ...one, partitions: 0 }))
  const { overshadowed } = analyzeTimeline(all)
  const visible = (list: readonly SegmentKey[], first: number): readonly SegmentKey[] =>
    list.filter((_, index) => !overshadowed[first + index])
  const lost = visible(missing, used.length + later.length)
  return {
    later: visible(later, used.length),
    unused: lost.filter((one) => existing.has(keyOf(one))),
    unlisted: lost.filter((one) => !existing.has(keyOf(one))),
  }
}

/** Returns what was not restored of a datasource, and why, one sentence for each reason. */
export function unrestoredText(
  dataSource: string,
  { later, unused, unlisted }: UnrestoredSegments,
): string[] {
  const groups: [segments: readonly SegmentKey[], what: string][] = [
    [
      later,
      'stayed unused, because a plan does not list segments that are created or marked as used later (for example, by compaction), and Druid does not record why segments are unused. To mark segments as used, run ./svc mark-used',
    ],
    [
      unused,
      `stayed unused, although the plan lists ${unused.length === 1 ? 'it' : 'them'}: either the current rules drop this data, or it was marked as unused after the plan was applied`,
    ],
    [
      unlisted,
      `${unlisted.length === 1 ? 'was' : 'were'} not found among the used and unused segments: kill tasks have deleted the data, or the coordinator has not read the segments from the metadata store yet`,
    ],
  ]
  return groups
    .filter(([segments]) => segments.length > 0)
    .map(
      ([segments, what]) =>
        `${countOf(segments.length, 'segment')} of [${dataSource}] in ${intervalsText(segments)} ${what}`,
    )
}

const maxShownIntervals = 3

function intervalsText(segments: readonly SegmentKey[]): string {
  const ranges = rangesOf(segments).map(formatInterval)
  const shown = ranges.slice(0, maxShownIntervals)
  const others = ranges.length > shown.length ? `, and ${ranges.length - shown.length} more` : ''
  return `[${shown.join(', ')}${others}]`
}

/** The intervals of segments, joined. */
const rangesOf = (segments: readonly SegmentKey[]): Interval[] =>
  joinIntervals(segments.map(({ interval }) => interval))

/**
 * Returns which segments are unused in a Druid cluster although the plan that dropped them was reverted, one sentence for each
 * datasource and reason. A cluster of svc records why segments are unused, so there, none are left.
 */
export async function unrestoredSegments(client: ClusterClient, applied: Plan): Promise<string[]> {
  if (client.interfaceName !== 'druid') return []
  if (applied.unusedSegments === undefined) {
    const unused = Object.values(applied.losses).reduce((sum, loss) => sum + loss.unused, 0)
    return unused === 0
      ? []
      : [
          `${countOf(unused, 'segment')} stayed unused, because the plan marked more segments as unused than a plan can list, and Druid does not record why segments are unused. To mark them as used, run ./svc mark-used`,
        ]
  }
  const found = await readUnrestored(client, applied)
  return found.flatMap(([dataSource, segments]) => unrestoredText(dataSource, segments))
}

/**
 * Druid lists all segments of a reverted plan as used or unused. A coordinator lists segments that were marked as used only after
 * it has read the metadata store again: by default, within a minute. Segments that kill tasks have deleted are never listed.
 */
export const restoredAreListed =
  (client: ClusterClient, applied: Plan): Condition =>
  async () =>
    (await readUnrestored(client, applied))
      .filter(([, { unlisted }]) => unlisted.length > 0)
      .map(
        ([dataSource, { unlisted }]) =>
          `${countOf(unlisted.length, 'segment')} of [${dataSource}] cannot be found`,
      )

async function readUnrestored(
  client: ClusterClient,
  { createdAt, unusedSegments = {} }: Plan,
): Promise<(readonly [dataSource: string, segments: UnrestoredSegments])[]> {
  const found: (readonly [string, UnrestoredSegments])[] = []
  for (const [dataSource, ids] of Object.entries(unusedSegments)) {
    const predicted = keysOf(dataSource, ids)
    const ranges = rangesOf(predicted)
    const [used, unused] = await Promise.all([
      readUsed(client, dataSource, ranges),
      readUnused(client, dataSource, ranges),
    ])
    found.push([dataSource, unrestoredIn({ predicted, used, unused }, parseInstant(createdAt))])
  }
  return found
}

const pathOf = (dataSource: string): string =>
  `/svc/coordinator/v1/metadata/datasources/${encodeURIComponent(dataSource)}`

const keysOf = (dataSource: string, ids: readonly string[]): SegmentKey[] =>
  ids.flatMap((id) => parseSegmentId(dataSource, id) ?? [])

// Few enough for one request.
const maxIntervals = 1000

async function readUsed(
  client: ClusterClient,
  dataSource: string,
  ranges: readonly Interval[],
): Promise<SegmentKey[]> {
  const found = new Set<string>()
  for (let start = 0; start < ranges.length; start += maxIntervals) {
    const intervals = ranges.slice(start, start + maxIntervals).map(formatInterval)
    const ids = (await client.send('POST', `${pathOf(dataSource)}/segments`, intervals)) as string[]
    for (const id of ids) found.add(id)
  }
  return keysOf(dataSource, [...found])
}

interface AnsweredUnused {
  readonly dataSegment: { readonly identifier: string }
  readonly usedStatusLastUpdatedDate?: string | null
}

const pageSize = 10_000

async function readUnused(
  client: ClusterClient,
  dataSource: string,
  ranges: readonly Interval[],
): Promise<UnusedSegment[]> {
  const unused: UnusedSegment[] = []
  for (const interval of yearsOf(ranges)) {
    let last: string | undefined
    do {
      const query = new URLSearchParams({ interval, limit: String(pageSize), sortOrder: 'ASC' })
      if (last !== undefined) query.set('lastSegmentId', last)
      const page = (await client.send(
        'GET',
        `${pathOf(dataSource)}/unusedSegments?${query}`,
      )) as AnsweredUnused[]
      for (const { dataSegment, usedStatusLastUpdatedDate: changed } of page) {
        const key = parseSegmentId(dataSource, dataSegment.identifier)
        if (key !== undefined) unused.push({ ...key, changedAt: changed ? parseInstant(changed) : undefined })
      }
      last = page.length === pageSize ? page.at(-1)!.dataSegment.identifier : undefined
    } while (last !== undefined)
  }
  return unused
}

/**
 * The full years of intervals, each in the notation of a query. Druid lists the unused segments that are within an interval, and
 * compaction may have replaced segments with those of longer intervals.
 */
function yearsOf(ranges: readonly Interval[]): string[] {
  const years = ranges.map(({ start, end }) => ({
    start: Number.isFinite(start) ? bucketOf('YEAR', start).start : start,
    end: Number.isFinite(end) ? bucketOf('YEAR', end - 1).end : end,
  }))
  return joinIntervals(years).map((range) => formatInterval(range).replace('/', '_'))
}
