import type { HeldRuns } from './held-copies.ts'
import type { PreviewedDatasource } from './previewed-cluster.ts'
import type { PreviewSegments, SegmentColumns } from './segments.ts'

/** The columns of a datasource, in the order in which they are encoded. */
export interface InventoryColumns {
  readonly starts: Float64Array
  readonly ends: Float64Array
  /** Of 32 bits if all sizes fit. */
  readonly sizes: Float64Array | Uint32Array
  /** A number for each segment that stays the same as long as it is used. */
  readonly keys: Uint32Array
  readonly versionAt: Uint32Array
  readonly partitionNums: Uint32Array
  readonly copyCounts: Uint16Array
  /** 1 for overshadowed segments. */
  readonly overshadowed: Uint8Array
  /** Indexes of the servers of each segment, one segment after the other. */
  readonly copies: Uint16Array
}

type SizeColumn = InventoryColumns['sizes']

/** Returns sizes in 32 bits if they fit. */
export const narrowed = (sizes: SizeColumn): SizeColumn =>
  sizes.every((size) => size <= maxNarrowSize) ? Uint32Array.from(sizes) : sizes

const maxNarrowSize = 0xffffffff

/** The segments of a datasource in the columns of an inventory. */
export class InventorySegments implements PreviewSegments {
  readonly dataSource: string
  readonly count: number
  readonly data: InventoryColumns
  readonly versions: readonly string[]
  private readonly firstCopy: Uint32Array

  constructor(dataSource: string, data: InventoryColumns, versions: readonly string[]) {
    this.dataSource = dataSource
    this.count = data.starts.length
    this.data = data
    this.versions = versions
    this.firstCopy = new Uint32Array(this.count + 1)
    for (let index = 0; index < this.count; index += 1)
      this.firstCopy[index + 1] = this.firstCopy[index]! + data.copyCounts[index]!
  }

  start(index: number): number {
    return this.data.starts[index]!
  }

  end(index: number): number {
    return this.data.ends[index]!
  }

  sizeBytes(index: number): number {
    return this.data.sizes[index]!
  }

  version(index: number): string {
    return this.versions[this.data.versionAt[index]!]!
  }

  partitionNum(index: number): number {
    return this.data.partitionNums[index]!
  }

  isOvershadowed(index: number): boolean {
    return this.data.overshadowed[index] === 1
  }

  key(index: number): number {
    return this.data.keys[index]!
  }

  forEachCopy(index: number, visit: (server: number) => void): void {
    const end = this.firstCopy[index + 1]!
    for (let at = this.firstCopy[index]!; at < end; at += 1) visit(this.data.copies[at]!)
  }
}

/** A datasource of an inventory. What is known about its segments is kept from one preview to the next. */
export class InventoryDatasource implements PreviewedDatasource {
  readonly segments: InventorySegments
  columns: SegmentColumns | undefined
  held: HeldRuns | undefined

  constructor(segments: InventorySegments, columns?: SegmentColumns) {
    this.segments = segments
    this.columns = columns
  }

  keep(columns: SegmentColumns, held: HeldRuns | undefined): void {
    this.columns = columns
    this.held = held ?? this.held
  }
}

/** What happened to a datasource since an inventory. */
interface DatasourceUpdate {
  /** Segments that were added or have changed. */
  readonly changed: InventorySegments
  /** Keys of segments that are gone. */
  readonly removed: readonly number[]
  /** The new index of each server; -1 for servers that are gone. */
  readonly serverPlaces: readonly number[]
}

// Number of segments between two pauses.
const slice = 16_384

/** Returns a datasource after an update. The order of its remaining segments stays the same. Yields regularly. */
export function* updatedDatasource(
  { segments: old, columns }: InventoryDatasource,
  update: DatasourceUpdate,
): Generator<undefined, InventoryDatasource> {
  const { changed } = update
  const { order, isSameShape } = yield* orderAfter(old, update)
  const { versions, places } = joinedVersions(old.versions, changed.versions)
  const versionAt = Uint32Array.from(changed.data.versionAt, (place) => places[place]!)
  const data: InventoryColumns = {
    ...(isSameShape ? old.data : yield* shapeAfter(old.data, { ...changed.data, versionAt }, order)),
    ...(yield* copiesAfter(old, update, order)),
  }
  const segments = new InventorySegments(old.dataSource, data, versions)
  return new InventoryDatasource(segments, isSameShape ? columns : undefined)
}

/** Everything but the replicas. */
type Shape = Omit<InventoryColumns, 'copyCounts' | 'copies'>

/** Returns the segments of two shapes in the given order. Yields between columns. */
function* shapeAfter(before: Shape, after: Shape, order: Uint32Array): Generator<undefined, Shape> {
  const { length } = order
  const oldCount = before.starts.length
  function* pick<Column extends SizeColumn | Uint8Array>(
    picked: Column,
    name: keyof Shape,
  ): Generator<undefined, Column> {
    const [old, added] = [before[name], after[name]]
    for (let at = 0; at < length; at += 1) {
      const from = order[at]!
      picked[at] = from < oldCount ? old[from]! : added[from - oldCount]!
    }
    yield
    return picked
  }
  return {
    starts: yield* pick(new Float64Array(length), 'starts'),
    ends: yield* pick(new Float64Array(length), 'ends'),
    sizes: narrowed(yield* pick(new Float64Array(length), 'sizes')),
    keys: yield* pick(new Uint32Array(length), 'keys'),
    versionAt: yield* pick(new Uint32Array(length), 'versionAt'),
    partitionNums: yield* pick(new Uint32Array(length), 'partitionNums'),
    overshadowed: yield* pick(new Uint8Array(length), 'overshadowed'),
  }
}

/**
 * Returns the segments after an update as indexes: those of the old segments, and from their count on those of the
 * changed ones. They have the same shape if only replicas have changed. Visible segments that were in the order of time stay so,
 * because sorting a million of them again would take a second. Yields regularly.
 */
function* orderAfter(
  old: InventorySegments,
  { changed, removed }: DatasourceUpdate,
): Generator<undefined, { readonly order: Uint32Array; readonly isSameShape: boolean }> {
  const { changeOf, added, isSameShape } = yield* changesOf(old, changed, removed)
  const order = new Uint32Array(old.count + changed.count)
  let length = 0
  let next = 0
  for (let index = 0; index < old.count; index += 1) {
    if (index % slice === 0) yield
    const change = changeOf[old.key(index)]!
    if (change < 0) continue
    // Overshadowed segments come last.
    while (next < added.length && !old.isOvershadowed(index) && isBefore(changed, added[next]!, old, index)) {
      order[length] = old.count + added[next]!
      length += 1
      next += 1
    }
    order[length] = change === 0 ? index : old.count + change - 1
    length += 1
  }
  for (; next < added.length; next += 1) {
    order[length] = old.count + added[next]!
    length += 1
  }
  return { order: order.slice(0, length), isSameShape: isSameShape && added.length === 0 }
}

interface Changes {
  /** By key: 0 for segments that have not changed, -1 for those that are gone, and otherwise the number of the changed segment. */
  readonly changeOf: Int32Array
  /** Indexes of the new segments, in the order of time. */
  readonly added: readonly number[]
  /** Whether the segments that are not new have changed at most in their replicas. */
  readonly isSameShape: boolean
}

/** Compares the segments of an update with the old ones. Yields regularly. */
function* changesOf(
  old: InventorySegments,
  changed: InventorySegments,
  removed: readonly number[],
): Generator<undefined, Changes> {
  const { keys } = old.data
  let maxKey = 0
  for (const list of [keys, changed.data.keys, removed])
    for (const key of list) if (key > maxKey) maxKey = key
  const changeOf = new Int32Array(maxKey + 1)
  for (const key of removed) changeOf[key] = -1
  for (let index = 0; index < changed.count; index += 1) changeOf[changed.key(index)] = index + 1
  const isReplaced = new Uint8Array(changed.count)
  let isSameShape = true
  for (let index = 0; index < old.count; index += 1) {
    if (index % slice === 0) yield
    const change = changeOf[keys[index]!]!
    if (change > 0) {
      isSameShape &&= isSameSegment(old, index, changed, change - 1)
      isReplaced[change - 1] = 1
    } else if (change < 0) isSameShape = false
  }
  const added = Array.from(isReplaced.keys())
    .filter((index) => isReplaced[index] === 0)
    .sort((a, b) => (isBefore(changed, a, changed, b) ? -1 : 1))
  return { changeOf, added, isSameShape }
}

/** Whether a segment comes before another one in the order of time, versions, and partitions. */
function isBefore(a: InventorySegments, at: number, b: InventorySegments, other: number): boolean {
  if (a.start(at) !== b.start(other)) return a.start(at) < b.start(other)
  if (a.end(at) !== b.end(other)) return a.end(at) < b.end(other)
  const [version, otherVersion] = [a.version(at), b.version(other)]
  return version === otherVersion ? a.partitionNum(at) < b.partitionNum(other) : version < otherVersion
}

/** Whether two segments differ at most in their replicas. */
const isSameSegment = (a: InventorySegments, at: number, b: InventorySegments, other: number): boolean =>
  a.start(at) === b.start(other) &&
  a.end(at) === b.end(other) &&
  a.sizeBytes(at) === b.sizeBytes(other) &&
  a.isOvershadowed(at) === b.isOvershadowed(other) &&
  a.partitionNum(at) === b.partitionNum(other) &&
  a.version(at) === b.version(other)

/** Returns the old versions with new ones after them, and the new place of each version in `added`. */
function joinedVersions(old: readonly string[], added: readonly string[]) {
  // Each of a million segments may have a version of its own, so only the few new ones are put into a map.
  const numbers = new Map(added.map((version, number) => [version, number]))
  const places: (number | undefined)[] = added.map(() => undefined)
  for (const [place, version] of old.entries()) {
    const number = numbers.get(version)
    if (number !== undefined) places[number] = place
  }
  const versions = added.filter((_, number) => places[number] === undefined)
  let next = old.length
  return {
    versions: versions.length === 0 ? old : [...old, ...versions],
    places: places.map((place) => place ?? next++),
  }
}

/** Returns the replicas of the segments in the given order. Yields regularly. */
function* copiesAfter(
  old: InventorySegments,
  { changed, serverPlaces }: DatasourceUpdate,
  order: Uint32Array,
): Generator<undefined, Pick<InventoryColumns, 'copyCounts' | 'copies'>> {
  const copyCounts = new Uint16Array(order.length)
  const copies = new Uint16Array(old.data.copies.length + changed.data.copies.length)
  let length = 0
  const add = (server: number): void => {
    copies[length] = server
    length += 1
  }
  const addOld = (server: number): void => {
    const place = serverPlaces[server]!
    if (place >= 0) add(place)
  }
  for (let at = 0; at < order.length; at += 1) {
    if (at % slice === 0) yield
    const from = order[at]!
    const first = length
    if (from < old.count) old.forEachCopy(from, addOld)
    else changed.forEachCopy(from - old.count, add)
    copyCounts[at] = length - first
  }
  return { copyCounts, copies: copies.slice(0, length) }
}
