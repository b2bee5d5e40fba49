import { invalidInput } from '../failure/index.ts'
import { parseRules, rulesTextInSlices } from '../rules/index.ts'
import type { PreviewServer } from './cluster.ts'
import type { HeldRuns } from './held-copies.ts'
import type { PreviewedCluster, PreviewedDatasource } from './previewed-cluster.ts'
import type { PreviewSegments, SegmentColumns } from './segments.ts'

/** The part of a cluster that a caller may read. */
export interface CompleteInventory extends PreviewedCluster {
  /** Whether the caller may read all datasources. Otherwise, others take space on servers that is not counted here. */
  readonly isComplete: boolean
}

/** The JSON at the start of an encoded inventory. */
interface Header {
  readonly now: number
  readonly isComplete: boolean
  readonly servers: readonly (Omit<PreviewServer, 'maxSizeBytes'> & {
    readonly maxSizeBytes: number | null
  })[]
  readonly rules: Readonly<Record<string, readonly object[]>>
  readonly datasources: readonly {
    readonly dataSource: string
    readonly segments: number
    /** Number of served replicas of all segments. */
    readonly copies: number
    readonly versions: readonly string[]
  }[]
}

// "svci" and the version of the format.
const magic = [0x73, 0x76, 0x63, 0x69, 1, 0, 0, 0] as const
const alignment = 8
// Number of segments between two pauses.
const slice = 16_384
// Number of characters of the header between two pauses.
const textSlice = 200_000

/** The columns of a datasource, in the order in which they are encoded. */
interface Columns {
  readonly starts: Float64Array
  readonly ends: Float64Array
  readonly sizes: Float64Array
  readonly versionAt: Uint32Array
  readonly partitionNums: Uint32Array
  readonly copyCounts: Uint16Array
  /** 1 for overshadowed segments. */
  readonly overshadowed: Uint8Array
  /** Indexes of the servers of each segment, one segment after the other. */
  readonly copies: Uint16Array
}

/**
 * Encodes an inventory in pieces: 8 bytes with the format and its version, the length of the header (32 bits, little
 * endian) and 4 zero bytes, the header as JSON in ASCII, and then the columns of each datasource. Every piece is padded to
 * a multiple of 8 bytes, so a reader needs no copy of the columns. Numbers are little endian. Yields regularly.
 */
export function* encodeInventory(inventory: CompleteInventory): Generator<undefined, Uint8Array[]> {
  const datasources: Header['datasources'][number][] = []
  const pieces: Uint8Array[] = []
  for (const { segments } of inventory.datasources) {
    const { columns, versions } = yield* encodeSegments(segments)
    const { dataSource, count } = segments
    datasources.push({ dataSource, segments: count, copies: columns.copies.length, versions })
    for (const column of Object.values(columns) as Columns[keyof Columns][]) {
      pieces.push(new Uint8Array(column.buffer, column.byteOffset, column.byteLength))
      pieces.push(paddingAfter(column.byteLength))
    }
  }
  const header: Omit<Header, 'rules'> = {
    now: inventory.now,
    isComplete: inventory.isComplete,
    servers: inventory.servers.map((server) => ({
      ...server,
      maxSizeBytes: Number.isFinite(server.maxSizeBytes) ? server.maxSizeBytes : null,
    })),
    datasources,
  }
  const rules: string[] = []
  for (const [name, list] of inventory.rules) {
    rules.push(`${JSON.stringify(name)}:${yield* rulesTextInSlices(list)}`)
    yield
  }
  const text = yield* asciiOf(`${JSON.stringify(header).slice(0, -1)},"rules":{${rules.join(',')}}}`)
  const prefix = new Uint8Array(16)
  prefix.set(magic)
  new DataView(prefix.buffer).setUint32(8, text.length, true)
  return [prefix, text, paddingAfter(text.length), ...pieces].filter(({ length }) => length > 0)
}

const paddingAfter = (length: number): Uint8Array => new Uint8Array(-length & (alignment - 1))

/** Returns JSON as ASCII: other characters are escaped. Yields regularly. */
function* asciiOf(json: string): Generator<undefined, Uint8Array> {
  const escaped = json.replace(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  const bytes = new Uint8Array(escaped.length)
  for (let index = 0; index < bytes.length; index += 1) {
    if (index % textSlice === textSlice - 1) yield
    bytes[index] = escaped.charCodeAt(index)
  }
  return bytes
}

function* encodeSegments(
  segments: PreviewSegments,
): Generator<undefined, { readonly columns: Columns; readonly versions: readonly string[] }> {
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
  for (let index = 0; index < count; index += 1) {
    if (index % slice === 0) yield
    columns.starts[index] = segments.start(index)
    columns.ends[index] = segments.end(index)
    columns.sizes[index] = segments.sizeBytes(index)
    const version = segments.version(index)
    const place = versionPlaces.get(version) ?? versionPlaces.size
    versionPlaces.set(version, place)
    columns.versionAt[index] = place
    columns.partitionNums[index] = segments.partitionNum(index)
    columns.overshadowed[index] = segments.isOvershadowed(index) ? 1 : 0
    const before = copyCount
    segments.forEachCopy(index, note)
    columns.copyCounts[index] = copyCount - before
  }
  return { columns: { ...columns, copies: copies.slice(0, copyCount) }, versions: [...versionPlaces.keys()] }
}

const emptyColumns = (count: number): Columns => ({
  starts: new Float64Array(count),
  ends: new Float64Array(count),
  sizes: new Float64Array(count),
  versionAt: new Uint32Array(count),
  partitionNums: new Uint32Array(count),
  copyCounts: new Uint16Array(count),
  overshadowed: new Uint8Array(count),
  copies: new Uint16Array(0),
})

/** Decodes an inventory. Throws invalidInput if it is not one. */
export function decodeInventory(buffer: ArrayBuffer): CompleteInventory {
  const bytes = new Uint8Array(buffer)
  if (bytes.length < 16 || magic.some((byte, index) => bytes[index] !== byte))
    throw invalidInput('The inventory has an unknown format: reload the page')
  const headerLength = new DataView(buffer).getUint32(8, true)
  let text = ''
  const piece = 8192
  for (let at = 0; at < headerLength; at += piece)
    text += String.fromCharCode(...bytes.subarray(16 + at, 16 + Math.min(headerLength, at + piece)))
  const { now, isComplete, servers, rules, datasources } = JSON.parse(text) as Header
  const reader = columnReader(buffer, 16 + headerLength)
  return {
    now,
    isComplete,
    servers: servers.map((server) => ({ ...server, maxSizeBytes: server.maxSizeBytes ?? Infinity })),
    rules: new Map(Object.entries(rules).map(([name, list]) => [name, parseRules(list)])),
    datasources: datasources.map((datasource) => decodeDatasource(datasource, reader)),
  }
}

type ColumnReader = <Column>(
  kind: { new (buffer: ArrayBuffer, offset: number, length: number): Column; BYTES_PER_ELEMENT: number },
  length: number,
) => Column

/** Returns a reader of the columns from an offset on, one after the other. */
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
  { dataSource, segments: count, copies: copyCount, versions }: Header['datasources'][number],
  read: ColumnReader,
): PreviewedDatasource {
  const starts = read(Float64Array, count)
  const ends = read(Float64Array, count)
  const sizes = read(Float64Array, count)
  const versionAt = read(Uint32Array, count)
  const partitionNums = read(Uint32Array, count)
  const copyCounts = read(Uint16Array, count)
  const overshadowed = read(Uint8Array, count)
  const copies = read(Uint16Array, copyCount)
  const firstCopy = new Uint32Array(count + 1)
  for (let index = 0; index < count; index += 1) firstCopy[index + 1] = firstCopy[index]! + copyCounts[index]!
  const segments: PreviewSegments = {
    dataSource,
    count,
    start: (index) => starts[index]!,
    end: (index) => ends[index]!,
    sizeBytes: (index) => sizes[index]!,
    version: (index) => versions[versionAt[index]!]!,
    partitionNum: (index) => partitionNums[index]!,
    isOvershadowed: (index) => overshadowed[index] === 1,
    forEachCopy: (index, visit) => {
      for (let at = firstCopy[index]!; at < firstCopy[index + 1]!; at += 1) visit(copies[at]!)
    },
  }
  let columns: SegmentColumns | undefined
  let held: HeldRuns | undefined
  return {
    segments,
    get columns() {
      return columns
    },
    get held() {
      return held
    },
    keep: (newColumns, newHeld) => {
      columns = newColumns
      held = newHeld ?? held
    },
  }
}
