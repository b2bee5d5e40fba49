import { type Rule, RuleBoundaries } from '../rules/index.ts'
import { countOf, formatBytes } from '../text/index.ts'
import { formatInterval, type Interval } from '../time/index.ts'
import { coveredGroups, type TimelineGroup } from '../timeline/index.ts'
import type { AnsweredRestorable } from './answer.ts'
import type { PreviewSegments } from './segments.ts'
import type { PreviewWarning } from './warnings.ts'

/** Unused segments of one interval and version that drop rules or requests marked. */
export interface UnusedGroup {
  readonly interval: Interval
  readonly version: string
  readonly sizesBytes: readonly number[]
}

/** Deleted segments of one interval that drop rules had marked as unused. */
export interface DeletedGroup {
  readonly interval: Interval
  readonly segments: number
  readonly sizeBytes: number
}

/** Number of segments, their bytes, and their time from the first start to the last end. */
class Extent {
  segments = 0
  bytes = 0
  private start = Infinity
  private end = -Infinity

  add({ start, end }: Interval, segments: number, bytes: number): void {
    this.segments += segments
    this.bytes += bytes
    this.start = Math.min(this.start, start)
    this.end = Math.max(this.end, end)
  }

  format() {
    const { segments, bytes, start, end } = this
    return { segments, bytes, interval: segments === 0 ? null : formatInterval({ start, end }) }
  }
}

/** What can be marked as used again because the rules after a change keep it. */
export class Restorable {
  /** Whether the preview counts these segments as used. */
  readonly included: boolean
  readonly warnings: PreviewWarning[] = []
  private readonly unused = new Extent()
  private readonly killed = new Extent()
  private readonly requested = new Extent()

  constructor(included: boolean) {
    this.included = included
  }

  /** Adds unused segments of a datasource that the rules keep, and segments that kill tasks have deleted. */
  add(dataSource: string, kept: readonly UnusedGroup[], killed: readonly DeletedGroup[]): void {
    const own = addTo(this.unused, kept)
    for (const { interval, segments, sizeBytes } of killed) this.killed.add(interval, segments, sizeBytes)
    if (this.included || own.interval === null) return
    const { segments, bytes, interval } = own
    const message = `Datasource [${dataSource}]: ${countOf(segments, 'unused segment')} (${formatBytes(bytes)}) in [${interval}] would be loaded if marked as used`
    this.warnings.push({ type: 'unusedSegmentsStay', dataSource, segments, bytes, interval, message })
  }

  /** Adds segments of a datasource that requests marked as unused, and that the rules keep. A rule change leaves them unused. */
  addRequested(dataSource: string, kept: readonly UnusedGroup[]): void {
    const { segments, bytes, interval } = addTo(this.requested, kept)
    if (interval === null) return
    const message = `Datasource [${dataSource}]: ${countOf(segments, 'segment')} (${formatBytes(bytes)}) in [${interval}] ${segments === 1 ? 'was marked as unused by a request, not by a rule, so it stays' : 'were marked as unused by a request, not by a rule, so they stay'} unused`
    this.warnings.push({ type: 'requestedSegmentsStay', dataSource, segments, bytes, interval, message })
  }

  /** Returns the totals as JSON. */
  format(): AnsweredRestorable {
    return {
      included: this.included,
      ...this.unused.format(),
      killed: this.killed.format(),
      requested: this.requested.format(),
    }
  }
}

/** Adds groups to a total, and returns their own extent. */
function addTo(total: Extent, groups: readonly UnusedGroup[]) {
  const own = new Extent()
  for (const { interval, sizesBytes } of groups) {
    const bytes = sizesBytes.reduce((sum, size) => sum + size, 0)
    for (const extent of [own, total]) extent.add(interval, sizesBytes.length, bytes)
  }
  return own.format()
}

/** The rules of a datasource after a change, in epoch milliseconds. */
interface RulesThen {
  readonly own: readonly Rule[]
  readonly defaults: readonly Rule[]
  readonly now: number
}

/** Returns the groups in intervals that rules do not drop. */
export function keptByRules<Group extends { readonly interval: Interval }>(
  groups: readonly Group[],
  { own, defaults, now }: RulesThen,
): Group[] {
  const boundaries = new RuleBoundaries(own, defaults, now)
  return groups.filter(({ interval }) => boundaries.wantedBy(boundaries.match(interval)).action !== 'drop')
}

/** Returns the unused groups that neither used segments nor other groups of the list overshadow. Yields regularly. */
export function* visibleAmong(
  unused: readonly UnusedGroup[],
  used: PreviewSegments,
): Generator<undefined, readonly UnusedGroup[]> {
  if (unused.length === 0) return unused
  const start = unused.reduce((min, { interval }) => Math.min(min, interval.start), Infinity)
  const end = unused.reduce((max, { interval }) => Math.max(max, interval.end), -Infinity)
  const groups: (TimelineGroup & { readonly unused?: UnusedGroup })[] = unused.map((group) => ({
    interval: group.interval,
    version: group.version,
    complete: true,
    unused: group,
  }))
  for (let index = 0; index < used.count; index += 1) {
    if (index % slice === 0) yield
    const interval = { start: used.start(index), end: used.end(index) }
    if (used.isOvershadowed(index) || interval.end <= start || interval.start >= end) continue
    groups.push({ interval, version: used.version(index), complete: true })
  }
  const covered = new Set(coveredGroups(groups).map((group) => group.unused))
  return unused.filter((group) => !covered.has(group))
}

// Number of segments between two pauses.
const slice = 16_384

/** Returns the segments of a datasource together with others that no server serves. */
export function withRestored(segments: PreviewSegments, groups: readonly UnusedGroup[]): PreviewSegments {
  const { count } = segments
  const restored = groups.flatMap((group) =>
    group.sizesBytes.map((sizeBytes, partitionNum) => ({ group, sizeBytes, partitionNum })),
  )
  const one = (index: number) => restored[index - count]!
  return {
    dataSource: segments.dataSource,
    count: count + restored.length,
    start: (index) => (index < count ? segments.start(index) : one(index).group.interval.start),
    end: (index) => (index < count ? segments.end(index) : one(index).group.interval.end),
    sizeBytes: (index) => (index < count ? segments.sizeBytes(index) : one(index).sizeBytes),
    version: (index) => (index < count ? segments.version(index) : one(index).group.version),
    partitionNum: (index) => (index < count ? segments.partitionNum(index) : one(index).partitionNum),
    isOvershadowed: (index) => index < count && segments.isOvershadowed(index),
    forEachCopy: (index, visit) => {
      if (index < count) segments.forEachCopy(index, visit)
    },
  }
}
