import { createHash } from 'node:crypto'
import { unavailable } from '@svc/domain/failure'
import {
  columnsOf,
  encodeInventory,
  type InventoryUpdate,
  type PreviewedDatasource,
} from '@svc/domain/preview'
import { serverPartsOf } from '@svc/shared/coordinator-dynamic-config'
import { accessTo, type Caller } from '@svc/shared/security'
import type { ServiceContext } from '@svc/shared/service'
import { createSlices } from '@svc/shared/slices'
import type { ClusterStateTracker } from '../cluster-state/index.ts'
import {
  type FollowedRules,
  loadCoordinatorConfig,
  readableRules,
  type SegmentInventory,
  type ServerInventory,
} from '../inventory/index.ts'
import { changedSegments, type LiveState, liveCluster, liveServers } from '../preview/index.ts'
import type { ChangeFeed, FeedPosition } from './change-feed.ts'

/** An inventory in columns, which is encoded only if the caller does not have it yet. */
export interface TaggedInventory {
  /** Identifies what the caller has after it: the last event, and the datasources that the caller may read. */
  readonly tag: string
  encode(): Promise<Uint8Array[]>
}

/** The segments, servers and rules of the cluster for pages that preview rule changes by themselves. */
export interface Inventories {
  /**
   * Returns what a caller may read: only what has changed since an inventory with the tag `since`, or everything if that
   * is unknown. Throws unavailable until the leader knows the cluster.
   */
  of(caller: Caller, since: string | undefined, signal: AbortSignal): Promise<TaggedInventory>
}

/** State of the cluster that inventories show. */
interface ShownState {
  readonly context: Pick<ServiceContext, 'clock' | 'database'>
  readonly segments: SegmentInventory
  readonly servers: ServerInventory
  readonly rules: FollowedRules
}

/** Who reads an inventory, and what. */
interface Reading {
  readonly state: LiveState
  readonly isReadable: (name: string) => boolean
  readonly position: FeedPosition
}

// Sending everything is faster than sending this many changes.
const maxChanges = 100_000

/** Creates the inventories of the state that the leader knows. */
export function createInventories(
  { context: { clock, database }, segments: { table }, servers, rules }: ShownState,
  clusterState: Pick<ClusterStateTracker, 'unknownReasons'>,
  feed: ChangeFeed,
): Inventories {
  const slices = createSlices()
  return {
    of: async (caller, since, signal) => {
      const reasons = clusterState.unknownReasons()
      if (reasons.length > 0)
        throw unavailable(`The leader does not know the state of the cluster yet: ${reasons[0]}`)
      const position = await feed.current()
      const [stored, config] = await Promise.all([rules.current(), loadCoordinatorConfig(database)])
      const loading = servers.loadingServers(performance.now(), serverPartsOf(config))
      const reading: Reading = {
        state: { table, servers: loading, rules: stored, now: clock.now() },
        isReadable: await accessTo(caller, [...table.datasourceNames, ...stored.keys()]),
        position,
      }
      const known = table.datasourceNames.length
      const tag = `${position.id}.${known}.${readerHash(caller, table.datasourceNames.map(reading.isReadable))}`
      return {
        tag,
        encode: () =>
          slices.run(function* () {
            const update = since === undefined ? undefined : updateSince(feed, reading, caller, since)
            return yield* encodeInventory(update ?? (yield* everything(reading)))
          }, signal),
      }
    },
  }
}

/** Returns a text that changes when the caller may read other ones of these datasources. */
function readerHash(caller: Caller, readable: readonly boolean[]): string {
  const text = JSON.stringify([caller.authenticator, caller.identity, readable])
  return createHash('sha256').update(text).digest('base64url').slice(0, 12)
}

/** Returns everything that a caller may read. Yields regularly. */
function* everything({ state, isReadable, position }: Reading): Generator<undefined, InventoryUpdate> {
  const numbers = readableNumbers(state, isReadable)
  const cluster = yield* liveCluster(state, numbers)
  const datasources: PreviewedDatasource[] = []
  for (const datasource of cluster.datasources) {
    const columns = datasource.columns ?? (yield* columnsOf(datasource.segments))
    datasource.keep(columns, undefined)
    datasources.push({ ...datasource, columns })
  }
  return {
    ...cluster,
    datasources,
    rules: readableRules(state.rules, isReadable),
    isComplete: numbers.length === usedNumbers(state).length,
    eventId: position.id,
  }
}

/** Returns what changed since an inventory with a tag; undefined if that is unknown, or too much. */
function updateSince(
  feed: ChangeFeed,
  { state, isReadable, position }: Reading,
  caller: Caller,
  since: string,
): InventoryUpdate | undefined {
  const { table } = state
  const [session, number, known, hash] = since.split('.')
  const id = `${session}.${number}`
  const [from, changes, journal] = [feed.positionOf(id), feed.since(id), feed.journal()]
  if (from === undefined || changes === undefined || journal === undefined) return undefined
  if (hash !== readerHash(caller, table.datasourceNames.slice(0, Number(known)).map(isReadable)))
    return undefined
  if (journal.position - from.journalPosition > maxChanges) return undefined
  const rowsOf = new Map<number, Set<number>>()
  journal.forEachSince(from.journalPosition, (row, datasource) => {
    const rows = rowsOf.get(datasource) ?? new Set()
    rowsOf.set(datasource, rows.add(row))
  })
  const removed = new Map<string, number[]>()
  const datasources: PreviewedDatasource[] = []
  for (const [datasource, rows] of rowsOf) {
    const name = table.datasourceNames[datasource]!
    if (!isReadable(name)) continue
    const used = [...rows].filter((row) => table.datasourceOfRow(row) === datasource)
    const gone = [...rows].filter((row) => table.datasourceOfRow(row) !== datasource)
    if (gone.length > 0) removed.set(name, gone)
    if (used.length > 0) datasources.push(changedSegments(state, datasource, used))
  }
  // A list that was deleted has no rules.
  const rules = new Map(changes.rules.map((name) => [name, state.rules.get(name) ?? []]))
  return {
    now: state.now,
    servers: liveServers(state.servers),
    datasources,
    removed,
    rules: readableRules(rules, isReadable),
    isComplete: readableNumbers(state, isReadable).length === usedNumbers(state).length,
    eventId: position.id,
  }
}

const usedNumbers = ({ table }: LiveState): number[] =>
  [...table.datasourceNames.keys()].filter((number) => table.usedCountOf(number) > 0)

const readableNumbers = (state: LiveState, isReadable: Reading['isReadable']): number[] =>
  usedNumbers(state).filter((number) => isReadable(state.table.datasourceNames[number]!))
