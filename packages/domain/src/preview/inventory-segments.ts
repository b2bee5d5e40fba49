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

/** Returns a datasource after an update. The order of its remaining segments stays the same. */
export function updatedDatasource(
  { segments: old, columns }: InventoryDatasource,
  update: DatasourceUpdate,
): InventoryDatasource {
  const { changed } = update
  const { order, isSameShape } = orderAfter(old, update)
  const { length } = order
  const pick = <Column extends SizeColumn | Uint8Array>(
    picked: Column,
    before: Column,
    after: Column,
  ): Column => {
    for (let at = 0; at < length; at += 1) {
      const from = order[at]!
      picked[at] = from < old.count ? before[from]! : after[from - old.count]!
    }
    return picked
  }
  const [before, after] = [old.data, changed.data]
  const { versions, places } = joinedVersions(old.versions, changed.versions)
  const versionAt = Uint32Array.from(after.versionAt, (place) => places[place]!)
  const data: InventoryColumns = {
    ...(isSameShape
      ? before
      : {
          starts: pick(new Float64Array(length), before.starts, after.starts),
          ends: pick(new Float64Array(length), before.ends, after.ends),
          sizes: narrowed(pick<SizeColumn>(new Float64Array(length), before.sizes, after.sizes)),
          keys: pick(new Uint32Array(length), before.keys, after.keys),
          versionAt: pick(new Uint32Array(length), before.versionAt, versionAt),
          partitionNums: pick(new Uint32Array(length), before.partitionNums, after.partitionNums),
          overshadowed: pick(new Uint8Array(length), before.overshadowed, after.overshadowed),
        }),
    ...copiesAfter(old, update, order),
  }
  const segments = new InventorySegments(old.dataSource, data, versions)
  return new InventoryDatasource(segments, isSameShape ? columns : undefined)
}

/**
 * Returns the segments after an update as indexes: those of the old segments, and from their count on those of the
 * changed ones. They have the same shape if only replicas have changed.
 */
function orderAfter(
  old: InventorySegments,
  { changed, removed }: DatasourceUpdate,
): { readonly order: Uint32Array; readonly isSameShape: boolean } {
  const { keys } = old.data
  let maxKey = 0
  for (const list of [keys, changed.data.keys, removed])
    for (const key of list) if (key > maxKey) maxKey = key
  // 0 for segments that have not changed, -1 for those that are gone, and otherwise the number of the changed segment.
  const changeOf = new Int32Array(maxKey + 1)
  for (const key of removed) changeOf[key] = -1
  for (let index = 0; index < changed.count; index += 1) changeOf[changed.key(index)] = index + 1
  const order = new Uint32Array(old.count + changed.count)
  const isReplaced = new Uint8Array(changed.count)
  let isSameShape = true
  let length = 0
  for (let index = 0; index < old.count; index += 1) {
    const change = changeOf[keys[index]!]!
    if (change > 0) {
      isSameShape &&= isSameSegment(old, index, changed, change - 1)
      isReplaced[change - 1] = 1
    }
    if (change < 0) isSameShape = false
    else {
      order[length] = change === 0 ? index : old.count + change - 1
      length += 1
    }
  }
  for (let index = 0; index < changed.count; index += 1) {
    if (isReplaced[index] === 1) continue
    isSameShape = false
    order[length] = old.count + index
    length += 1
  }
  return { order: order.slice(0, length), isSameShape }
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
  const placeOf = new Map(old.map((version, place) => [version, place]))
  const places = added.map((version) => {
    const place = placeOf.get(version) ?? placeOf.size
    placeOf.set(version, place)
    return place
  })
  return { versions: [...placeOf.keys()], places }
}

function copiesAfter(
  old: InventorySegments,
  { changed, serverPlaces }: DatasourceUpdate,
  order: Uint32Array,
): Pick<InventoryColumns, 'copyCounts' | 'copies'> {
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
    const from = order[at]!
    const first = length
    if (from < old.count) old.forEachCopy(from, addOld)
    else changed.forEachCopy(from - old.count, add)
    copyCounts[at] = length - first
  }
  return { copyCounts, copies: copies.slice(0, length) }
}
