import { invalidInput } from '../failure/index.ts'
import { type JsonMember, jsonInAscii, jsonObjectOfTexts, withFieldsFirst } from '../json/index.ts'
import { parseRules, rulesTextInSlices } from '../rules/index.ts'
import {
  type InventoryColumns,
  InventoryDatasource,
  InventorySegments,
  narrowed,
  updatedDatasource,
} from './inventory-segments.ts'
import type { PreviewedCluster, PreviewedDatasource } from './previewed-cluster.ts'
import type { PreviewServer } from './servers-by-tier.ts'

/** The part of a cluster that a caller may read. */
export interface CompleteInventory extends PreviewedCluster {
  /** Whether the caller may read all datasources. Otherwise, others take space on servers that is not counted here. */
  readonly isComplete: boolean
  /** Identifies the last event that is part of it. */
  readonly eventId?: string | undefined
}

/** An inventory, or what has changed in it. */
export interface InventoryUpdate extends CompleteInventory {
  /**
   * Keys of the segments that are gone, by datasource. If they are given, the update contains only the segments and
   * lists of rules that have changed. If they are undefined, it contains everything.
   */
  readonly removed?: ReadonlyMap<string, readonly number[]> | undefined
}

/** The JSON at the start of an encoded inventory. */
interface Header {
  readonly now: number
  readonly eventId?: string | undefined
  readonly removed?: readonly (readonly [dataSource: string, keys: readonly number[]])[] | undefined
  readonly isComplete: boolean
  readonly servers: readonly (Omit<PreviewServer, 'maxSizeBytes'> & {
    readonly maxSizeBytes: number | null
  })[]
  readonly rules: Readonly<Record<string, readonly object[]>>
  readonly datasources: readonly {
    readonly dataSource: string
    readonly segments: number
    /** Bytes of each value in the column of sizes. */
    readonly sizeWidth: number
    /** Number of served replicas of all segments. */
    readonly copies: number
    readonly versions: readonly string[]
  }[]
}

// "svci" and the version of the format.
const magic = [0x73, 0x76, 0x63, 0x69, 2, 0, 0, 0] as const
const alignment = 8
// Number of segments between two pauses.
const slice = 16_384
// Number of characters of the header between two pauses.
const textSlice = 200_000

/**
 * Encodes an inventory in pieces: 8 bytes with the format and its version, the length of the header (32 bits, little
 * endian) and 4 zero bytes, the header as JSON in ASCII, and then the columns of each datasource. Every piece is padded to
 * a multiple of 8 bytes, so a reader needs no copy of the columns. Numbers are little endian. Yields regularly.
 */
export function* encodeInventory(inventory: InventoryUpdate): Generator<undefined, Uint8Array[]> {
  const datasources: Header['datasources'][number][] = []
  const pieces: Uint8Array[] = []
  for (const datasource of inventory.datasources) {
    const { columns, versions } = yield* encodeSegments(datasource)
    const { dataSource, count } = datasource.segments
    const [sizeWidth, copies] = [columns.sizes.BYTES_PER_ELEMENT, columns.copies.length]
    datasources.push({ dataSource, segments: count, sizeWidth, copies, versions })
    for (const column of Object.values(columns) as InventoryColumns[keyof InventoryColumns][]) {
      pieces.push(new Uint8Array(column.buffer, column.byteOffset, column.byteLength))
      pieces.push(paddingAfter(column.byteLength))
    }
  }
  const header: Omit<Header, 'rules'> = {
    now: inventory.now,
    isComplete: inventory.isComplete,
    eventId: inventory.eventId,
    removed: inventory.removed && [...inventory.removed],
    servers: inventory.servers.map((server) => ({
      ...server,
      maxSizeBytes: Number.isFinite(server.maxSizeBytes) ? server.maxSizeBytes : null,
    })),
    datasources,
  }
  const rules: JsonMember[] = []
  for (const [name, list] of inventory.rules) {
    rules.push([name, yield* rulesTextInSlices(list)])
    yield
  }
  const withRules = withFieldsFirst(header, jsonObjectOfTexts([['rules', jsonObjectOfTexts(rules)]]))
  const text = yield* asciiOf(withRules)
  const prefix = new Uint8Array(16)
  prefix.set(magic)
  new DataView(prefix.buffer).setUint32(8, text.length, true)
  return [prefix, text, paddingAfter(text.length), ...pieces].filter(({ length }) => length > 0)
}

const paddingAfter = (length: number): Uint8Array => new Uint8Array(-length & (alignment - 1))

/** Returns JSON as ASCII: other characters are escaped. Yields regularly. */
function* asciiOf(json: string): Generator<undefined, Uint8Array> {
  const escaped = jsonInAscii(json)
  const bytes = new Uint8Array(escaped.length)
  for (let index = 0; index < bytes.length; index += 1) {
    if (index % textSlice === textSlice - 1) yield
    bytes[index] = escaped.charCodeAt(index)
  }
  return bytes
}

function* encodeSegments({
  segments,
  columns: known,
}: PreviewedDatasource): Generator<
  undefined,
  { readonly columns: InventoryColumns; readonly versions: readonly string[] }
> {
  const { count } = segments
  const versionPlaces = new Map<string, number>()
  const columns = emptyColumns(count)
  let copies = new Uint16Array(count * 2)
  let copyCount = 0
  const note = (server: number): void => {
    if (copyCount === copies.length) {
      const larger = new Uint16Array(copies.length * 2 + 16)
      larger.set(copies)
      copies = larger
    }
    copies[copyCount] = server
    copyCount += 1
  }
  for (let at = 0; at < count; at += 1) {
    if (at % slice === 0) yield
    // In the order of time, so that the reader need not sort.
    const index =
      known === undefined ? at : (known.indexes[at] ?? known.overshadowedIndexes[at - known.count]!)
    columns.starts[at] = segments.start(index)
    columns.ends[at] = segments.end(index)
    columns.sizes[at] = segments.sizeBytes(index)
    columns.keys[at] = segments.key?.(index) ?? index
    const version = segments.version(index)
    const place = versionPlaces.get(version) ?? versionPlaces.size
    versionPlaces.set(version, place)
    columns.versionAt[at] = place
    columns.partitionNums[at] = segments.partitionNum(index)
    columns.overshadowed[at] = segments.isOvershadowed(index) ? 1 : 0
    const before = copyCount
    segments.forEachCopy(index, note)
    columns.copyCounts[at] = copyCount - before
  }
  const compact = { sizes: narrowed(columns.sizes), copies: copies.slice(0, copyCount) }
  return { columns: { ...columns, ...compact }, versions: [...versionPlaces.keys()] }
}

const emptyColumns = (count: number): InventoryColumns => ({
  starts: new Float64Array(count),
  ends: new Float64Array(count),
  sizes: new Float64Array(count),
  keys: new Uint32Array(count),
  versionAt: new Uint32Array(count),
  partitionNums: new Uint32Array(count),
  copyCounts: new Uint16Array(count),
  overshadowed: new Uint8Array(count),
  copies: new Uint16Array(0),
})

/** An inventory that can be updated. */
export interface DecodedInventory extends InventoryUpdate {
  readonly datasources: readonly InventoryDatasource[]
}

/** Decodes an inventory. Throws invalidInput if it is not one. */
export function decodeInventory(buffer: ArrayBuffer): DecodedInventory {
  const bytes = new Uint8Array(buffer)
  if (bytes.length < 16 || magic.some((byte, index) => bytes[index] !== byte))
    throw invalidInput('The inventory has an unknown format: reload the page')
  const headerLength = new DataView(buffer).getUint32(8, true)
  let text = ''
  const piece = 8192
  for (let at = 0; at < headerLength; at += piece)
    text += String.fromCharCode(...bytes.subarray(16 + at, 16 + Math.min(headerLength, at + piece)))
  const { now, isComplete, eventId, removed, servers, rules, datasources } = JSON.parse(text) as Header
  const reader = columnReader(buffer, 16 + headerLength)
  return {
    now,
    isComplete,
    eventId,
    removed: removed && new Map(removed),
    servers: servers.map((server) => ({ ...server, maxSizeBytes: server.maxSizeBytes ?? Infinity })),
    rules: new Map(Object.entries(rules).map(([name, list]) => [name, parseRules(list)])),
    datasources: datasources.map((datasource) => decodeDatasource(datasource, reader)),
  }
}

type ColumnReader = <Column>(
  kind: { new (buffer: ArrayBuffer, offset: number, length: number): Column; BYTES_PER_ELEMENT: number },
  length: number,
) => Column

/** Returns a reader of the columns that starts at an offset and reads one after the other. */
function columnReader(buffer: ArrayBuffer, offset: number): ColumnReader {
  let next = offset
  return (kind, length) => {
    next += -next & (alignment - 1)
    const column = new kind(buffer, next, length)
    next += length * kind.BYTES_PER_ELEMENT
    return column
  }
}

function decodeDatasource(
  { dataSource, segments: count, sizeWidth, copies, versions }: Header['datasources'][number],
  read: ColumnReader,
): InventoryDatasource {
  const data: InventoryColumns = {
    starts: read(Float64Array, count),
    ends: read(Float64Array, count),
    sizes: sizeWidth === 4 ? read(Uint32Array, count) : read(Float64Array, count),
    keys: read(Uint32Array, count),
    versionAt: read(Uint32Array, count),
    partitionNums: read(Uint32Array, count),
    copyCounts: read(Uint16Array, count),
    overshadowed: read(Uint8Array, count),
    copies: read(Uint16Array, copies),
  }
  return new InventoryDatasource(new InventorySegments(dataSource, data, versions))
}

/** Returns the inventory after an update. Datasources that have not changed stay the same objects. Yields regularly. */
export function* updateInventory(
  old: DecodedInventory,
  update: DecodedInventory,
): Generator<undefined, DecodedInventory> {
  const { removed } = update
  if (removed === undefined) return update
  const placeOf = new Map(update.servers.map(({ name }, place) => [name, place]))
  const serverPlaces = old.servers.map(({ name }) => placeOf.get(name) ?? -1)
  const isSameServers = JSON.stringify(old.servers) === JSON.stringify(update.servers)
  const changed = new Map(update.datasources.map((one) => [one.segments.dataSource, one.segments]))
  const known = new Set(old.datasources.map(({ segments }) => segments.dataSource))
  const remaining: InventoryDatasource[] = []
  for (const one of old.datasources) {
    const { dataSource } = one.segments
    const keys = removed.get(dataSource) ?? []
    const segments = changed.get(dataSource)
    if (isSameServers && segments === undefined && keys.length === 0) {
      remaining.push(one)
      continue
    }
    const next = yield* updatedDatasource(one, {
      changed: segments ?? noSegments(dataSource),
      removed: keys,
      serverPlaces,
    })
    if (next.segments.count > 0) remaining.push(next)
  }
  return {
    ...update,
    removed: undefined,
    rules: new Map([...old.rules, ...update.rules]),
    datasources: [
      ...remaining,
      ...update.datasources.filter(({ segments }) => !known.has(segments.dataSource)),
    ],
  }
}

const noSegments = (dataSource: string): InventorySegments =>
  new InventorySegments(dataSource, emptyColumns(0), [])
