import { copyFlag, type SegmentTable } from '@svc/domain/inventory'
import type { LoadingServer } from '@svc/domain/loading'
import type {
  PreviewedCluster,
  PreviewedDatasource,
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
  const { copies } = table
  const placeOf = new Map(servers.map((server, place) => [server.number, place]))
  const snapshot = yield* snapshotOf(table, number)
  const { rows, starts, ends, sizes, partitionNums, hidden, versionAt, versions } = snapshot
  return {
    segments: {
      dataSource: table.datasourceNames[number]!,
      count: rows.length,
      start: (index) => starts[index]!,
      end: (index) => ends[index]!,
      sizeBytes: (index) => sizes[index]!,
      version: (index) => versions[versionAt[index]!]!,
      partitionNum: (index) => partitionNums[index]!,
      isOvershadowed: (index) => hidden[index] === 1,
      forEachCopy: (index, visit) => {
        for (let entry = copies.firstOf[rows[index]!]!; entry >= 0; entry = copies.nextOf[entry]!) {
          const place = placeOf.get(copies.serverOf[entry]!)
          if (place !== undefined && (copies.flagsOf[entry]! & copyFlag.served) !== 0) visit(place)
        }
      },
    },
    columns: snapshot.columns,
    keep: (columns) => {
      snapshot.columns = columns
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
  const count = table.usedCountOf(number)
  const snapshot = {
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
  }
  let index = 0
  // No pause here, so that no half-applied change is visible. It takes a few milliseconds per 100,000 segments.
  for (const group of table.groupsOf(number)) {
    const at = snapshot.versions.push(table.version(group)) - 1
    table.forEachRow(group, (row) => {
      snapshot.rows[index] = row
      snapshot.starts[index] = table.startOf[group]!
      snapshot.ends[index] = table.endOf[group]!
      snapshot.sizes[index] = table.sizeOf[row]!
      snapshot.partitionNums[index] = table.partitionNumOf[row]!
      snapshot.hidden[index] = table.hiddenOf[group]!
      snapshot.versionAt[index] = at
      index += 1
    })
  }
  ofTable.set(number, snapshot)
  yield
  return snapshot
}
