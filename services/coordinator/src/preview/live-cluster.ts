import { copyFlag, type SegmentTable } from '@svc/domain/inventory'
import type { LoadingServer } from '@svc/domain/loading'
import type {
  PreviewedCluster,
  PreviewedDatasource,
  PreviewSegments,
  PreviewServer,
  SegmentColumns,
} from '@svc/domain/preview'
import type { RulesByName } from '@svc/domain/rules'

/** A snapshot of the segments of a datasource. It stays stable while a preview pauses and the segments change. */
interface DatasourceSnapshot {
  readonly changes: number
  readonly rows: Int32Array
  readonly starts: Float64Array
  readonly ends: Float64Array
  readonly sizes: Float64Array
  readonly partitionNums: Int32Array
  readonly hidden: Uint8Array
  /** Index of each segment's version in `versions`. */
  readonly versionAt: Int32Array
  readonly versions: readonly string[]
  columns: SegmentColumns | undefined
}

// A snapshot is valid until the segments of its datasource change.
const snapshotsOfTable = new WeakMap<SegmentTable, Map<number, DatasourceSnapshot>>()

/** The state of the cluster that the leader knows. */
export interface LiveState {
  readonly table: SegmentTable
  readonly servers: readonly LoadingServer[]
  readonly rules: RulesByName
  readonly now: number
}

/** Returns the servers of the cluster in the form that a preview reads. */
export function liveServers(servers: readonly LoadingServer[]): PreviewServer[] {
  return servers.map(({ name, type, tier, maxSizeBytes, decommissioning }) => ({
    name,
    type,
    tier,
    maxSizeBytes,
    decommissioning,
  }))
}

/** Returns the cluster with the used segments of some datasources, given by number. Yields regularly. */
export function* liveCluster(
  { table, servers, rules, now }: LiveState,
  numbers: Iterable<number>,
): Generator<undefined, PreviewedCluster> {
  const datasources: PreviewedDatasource[] = []
  for (const number of numbers) {
    if (table.usedCountOf(number) > 0) datasources.push(yield* liveDatasource(table, number, servers))
  }
  return { now, datasources, servers: liveServers(servers), rules }
}

function* liveDatasource(
  table: SegmentTable,
  number: number,
  servers: readonly LoadingServer[],
): Generator<undefined, PreviewedDatasource> {
  const snapshot = yield* snapshotOf(table, number)
  return {
    segments: segmentsOf(table, number, snapshot, servers),
    columns: snapshot.columns,
    keep: (columns) => {
      snapshot.columns = columns
    },
  }
}

/** Returns some segments of a datasource, given by row, and the current servers that serve them. */
export function changedSegments(
  { table, servers }: LiveState,
  number: number,
  rows: readonly number[],
): PreviewedDatasource {
  const snapshot = emptySnapshot(table.changesOf(number), rows.length)
  for (const [index, row] of rows.entries()) {
    const group = table.groupOf[row]!
    addToSnapshot(snapshot, index, table, row, snapshot.versions.push(table.version(group)) - 1)
  }
  const segments = segmentsOf(table, number, snapshot, servers)
  return { segments, columns: undefined, keep: () => undefined }
}

function segmentsOf(
  table: SegmentTable,
  number: number,
  { rows, starts, ends, sizes, partitionNums, hidden, versionAt, versions }: DatasourceSnapshot,
  servers: readonly LoadingServer[],
): PreviewSegments {
  const { copies } = table
  const placeOf = new Map(servers.map((server, place) => [server.number, place]))
  return {
    dataSource: table.datasourceNames[number]!,
    count: rows.length,
    start: (index) => starts[index]!,
    end: (index) => ends[index]!,
    sizeBytes: (index) => sizes[index]!,
    version: (index) => versions[versionAt[index]!]!,
    partitionNum: (index) => partitionNums[index]!,
    isOvershadowed: (index) => hidden[index] === 1,
    key: (index) => rows[index]!,
    forEachCopy: (index, visit) => {
      for (let entry = copies.firstOf[rows[index]!]!; entry >= 0; entry = copies.nextOf[entry]!) {
        const place = placeOf.get(copies.serverOf[entry]!)
        if (place !== undefined && (copies.flagsOf[entry]! & copyFlag.served) !== 0) visit(place)
      }
    },
  }
}

function* snapshotOf(table: SegmentTable, number: number): Generator<undefined, DatasourceSnapshot> {
  let ofTable = snapshotsOfTable.get(table)
  if (ofTable === undefined) {
    ofTable = new Map()
    snapshotsOfTable.set(table, ofTable)
  }
  const changes = table.changesOf(number)
  const known = ofTable.get(number)
  if (known?.changes === changes) return known
  const snapshot = emptySnapshot(changes, table.usedCountOf(number))
  let index = 0
  // No pause here, so that no half-applied change is visible. It takes a few milliseconds per 100,000 segments.
  for (const group of table.groupsOf(number)) {
    const at = snapshot.versions.push(table.version(group)) - 1
    const rows: number[] = []
    table.forEachRow(group, (row) => rows.push(row))
    // In the order of partitions, so that the columns of a preview are usually sorted already.
    rows.sort((a, b) => table.partitionNumOf[a]! - table.partitionNumOf[b]!)
    for (const row of rows) {
      addToSnapshot(snapshot, index, table, row, at)
      index += 1
    }
  }
  ofTable.set(number, snapshot)
  yield
  return snapshot
}

const emptySnapshot = (changes: number, count: number) => ({
  changes,
  rows: new Int32Array(count),
  starts: new Float64Array(count),
  ends: new Float64Array(count),
  sizes: new Float64Array(count),
  partitionNums: new Int32Array(count),
  hidden: new Uint8Array(count),
  versionAt: new Int32Array(count),
  versions: [] as string[],
  columns: undefined,
})

function addToSnapshot(
  snapshot: ReturnType<typeof emptySnapshot>,
  index: number,
  table: SegmentTable,
  row: number,
  versionAt: number,
): void {
  const group = table.groupOf[row]!
  snapshot.rows[index] = row
  snapshot.starts[index] = table.startOf[group]!
  snapshot.ends[index] = table.endOf[group]!
  snapshot.sizes[index] = table.sizeOf[row]!
  snapshot.partitionNums[index] = table.partitionNumOf[row]!
  snapshot.hidden[index] = table.hiddenOf[group]!
  snapshot.versionAt[index] = versionAt
}
