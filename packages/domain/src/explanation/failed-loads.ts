import { copyFlag, type SegmentTable } from '../inventory/index.ts'
import { hasRoomFor, holdsSegment, type LoadingServer, type ServerClone } from '../loading/index.ts'
import { type RuleBoundaries, type RulesByName, ruleBoundariesOf } from '../rules/index.ts'
import { countOf } from '../text/index.ts'

/**
 * What becomes of a failed load. `obsolete`: nothing requires it any more; `blocked`: it is required, but runs do not assign it to the
 * server; `retryable`: a run may assign it to the server again.
 */
export type FailedLoadState = 'obsolete' | 'blocked' | 'retryable'

/** What decides about failed loads. */
interface JudgedCluster {
  readonly table: SegmentTable
  readonly rules: RulesByName
  /** The servers without clones. */
  readonly servers: readonly LoadingServer[]
  readonly clones: readonly ServerClone[]
  readonly now: number
  readonly isPaused: boolean
}

/** Returns a function that returns what becomes of the failed load of a segment, given by ID, on a server, given by number. */
export function judgeFailedLoads({
  table,
  rules,
  servers,
  clones,
  now,
  isPaused,
}: JudgedCluster): (segmentId: string, server: number) => FailedLoadState {
  const { copies } = table
  const byNumber = new Map(servers.map((server) => [server.number, server]))
  const cloneOf = new Map(clones.map((clone) => [clone.target.number, clone]))
  const boundariesOf = new Map<number, RuleBoundaries>()
  const boundaries = (datasource: number): RuleBoundaries => {
    const known =
      boundariesOf.get(datasource) ?? ruleBoundariesOf(rules, table.datasourceNames[datasource]!, now)
    boundariesOf.set(datasource, known)
    return known
  }
  const stateIf = (canLoad: boolean): FailedLoadState => (canLoad && !isPaused ? 'retryable' : 'blocked')
  const takes = (server: LoadingServer, row: number): boolean =>
    (copies.flags(row, server.number) & copyFlag.loading) !== 0 || hasRoomFor(server, table.sizeOf[row]!)
  const onClone = ({ target, source }: ServerClone, row: number): FailedLoadState => {
    if (source === undefined) return 'blocked'
    return holdsSegment(copies.flags(row, source)) ? stateIf(takes(target, row)) : 'obsolete'
  }
  const onHistorical = (server: LoadingServer, row: number, required: number): FailedLoadState => {
    const { served, loading } = replicasIn(copies, row, server, byNumber)
    if (served >= required) return 'obsolete'
    return stateIf(!server.decommissioning && served + loading < required && takes(server, row))
  }
  return (segmentId, number) => {
    const row = table.rowOf(segmentId)
    if (row < 0 || !table.isUsed(row) || table.isHidden(row)) return 'obsolete'
    if (isServed(copies.flags(row, number))) return 'obsolete'
    const clone = cloneOf.get(number)
    if (clone !== undefined) return onClone(clone, row)
    const group = table.groupOf[row]!
    const rule = boundaries(table.datasourceOf[group]!)
    const wanted = rule.wantedBy(rule.match({ start: table.startOf[group]!, end: table.endOf[group]! }))
    const server = byNumber.get(number)
    if (wanted.action === 'drop' || server === undefined) return 'obsolete'
    if (wanted.action === 'broadcast') return stateIf(!server.decommissioning && takes(server, row))
    return server.type === 'historical'
      ? onHistorical(server, row, wanted.tieredReplicants.get(server.tier) ?? 0)
      : 'obsolete'
  }
}

const isServed = (flags: number): boolean =>
  (flags & (copyFlag.served | copyFlag.dropping)) === copyFlag.served

/** Counts the replicas of a segment in the tier of a server: those that are served, and those that other servers load. */
function replicasIn(
  { firstOf, nextOf, serverOf, flagsOf }: SegmentTable['copies'],
  row: number,
  { number, tier }: LoadingServer,
  servers: ReadonlyMap<number, LoadingServer>,
) {
  let served = 0
  let loading = 0
  for (let entry = firstOf[row]!; entry >= 0; entry = nextOf[entry]!) {
    const server = servers.get(serverOf[entry]!)
    if (server?.type !== 'historical' || server.tier !== tier || server.decommissioning) continue
    const flags = flagsOf[entry]!
    if (isServed(flags)) served += 1
    else if ((flags & (copyFlag.loading | copyFlag.moving)) === copyFlag.loading && server.number !== number)
      loading += 1
  }
  return { served, loading }
}

/** The failed loads of a server that are still required. */
export interface FailedLoads {
  readonly count: number
  /** Number of those that a run may assign to the server again. */
  readonly retryable: number
  /** Undefined if no error may be shown. */
  readonly lastError: string | undefined
}

/** Says which loads a server failed, and which of them it may retry. */
export function failedLoadsText(name: string, { count, retryable, lastError }: FailedLoads): string {
  const error = lastError === undefined ? '' : ` (${lastError})`
  const retry =
    retryable === 0 ? '' : retryable === count ? ' and may retry' : ` and may retry ${retryable} of them`
  return `Server [${name}] failed to load ${countOf(count, 'segment')}${error}${retry}`
}
