import {
  type CompiledRule,
  compileRules,
  defaultRule,
  type Rule,
  type RuleRegion,
  regionOf,
} from '../rules/index.ts'
import { clusterOf, type PreviewCluster, type PreviewServer, type RuleTarget, targetOf } from './cluster.ts'
import { certainlyFits, type TierDemand, TierRoom } from './placement.ts'
import type { PreviewSegments, SegmentColumns } from './segments.ts'
import { columnsOf } from './segments.ts'
import { type Stretch, stretchesOf } from './stretches.ts'
import { addCopies, type CopyTally, noCopies } from './tallies.ts'

/** The rules that the segments of a datasource are matched against, as they would be after the change. */
export interface PreviewRules {
  readonly own: readonly Rule[]
  readonly defaults: readonly Rule[]
}

/** What a preview looks at. */
export interface PreviewInput {
  /** Epoch milliseconds. */
  readonly now: number
  readonly datasources: readonly (PreviewRules & {
    readonly segments: PreviewSegments
    /** The segments in columns, where they have been put there before. */
    readonly columns: SegmentColumns | undefined
  })[]
  /** The servers that there are to be. */
  readonly servers: readonly PreviewServer[]
  /** The servers as they are; segments name those that serve them by their numbers in this list. */
  readonly serversBefore: readonly PreviewServer[]
}

/** What becomes of the segments of one datasource. */
export interface DatasourceOutcome extends PreviewRules {
  readonly segments: PreviewSegments
  readonly columns: SegmentColumns
  readonly compiled: readonly CompiledRule[]
  /** What each rule leads to. */
  readonly targets: readonly RuleTarget[]
  readonly stretches: readonly Stretch[]
  /** Copies at each position before the change, by holder; undefined for one that has none. */
  readonly before: readonly (Uint16Array | undefined)[]
  /** What the overshadowed segments have before the change, by holder: all of it goes. */
  readonly overshadowedBefore: readonly CopyTally[]
  /** Copies at each position after it, by holder, where there may not be room for all; undefined elsewhere. */
  readonly placed: (Uint16Array | undefined)[]
}

/** What the rules lead to as of one moment. */
export interface Outcome {
  readonly now: number
  readonly cluster: PreviewCluster
  readonly datasources: readonly DatasourceOutcome[]
}

// Segments that are looked at between two pauses.
const slice = 16_384

/** All rules in the order in which they are tried. */
export function listOf({ own, defaults }: PreviewRules): Rule[] {
  return [...own, ...defaults, defaultRule]
}

/** Where all rules apply at a moment. */
export function regionsOf(rules: PreviewRules, now: number): RuleRegion[] {
  return listOf(rules).map((rule) => regionOf(rule, now))
}

/** Decides what becomes of every segment; pauses now and then. */
export function* decideOutcome(input: PreviewInput): Generator<undefined, Outcome> {
  const { now, servers, serversBefore } = input
  const historicalsBefore = serversBefore.filter(({ type }) => type === 'historical')
  const cluster = clusterOf(
    servers,
    historicalsBefore.map(({ tier }) => tier),
  )
  const datasources: DatasourceOutcome[] = []
  for (const { segments, columns: known, own, defaults } of input.datasources) {
    const columns = known ?? (yield* columnsOf(segments))
    const rules = { own, defaults }
    const compiled = compileRules(listOf(rules), now)
    const stretches = yield* stretchesOf(columns, regionsOf(rules, now))
    const copies = yield* countCopies(segments, columns, serversBefore, cluster)
    datasources.push({
      own,
      defaults,
      segments,
      columns,
      compiled,
      targets: compiled.map((rule) => targetOf(rule, cluster)),
      stretches,
      ...copies,
      placed: cluster.holders.map(() => undefined),
    })
  }
  const outcome = { now, cluster, datasources }
  for (const holder of cluster.holders.keys()) yield* placeWhereTight(outcome, holder)
  return outcome
}

function* countCopies(
  segments: PreviewSegments,
  { indexes, count, overshadowedIndexes }: SegmentColumns,
  servers: readonly PreviewServer[],
  { holders, tiers }: PreviewCluster,
): Generator<undefined, Pick<DatasourceOutcome, 'before' | 'overshadowedBefore'>> {
  const before: (Uint16Array | undefined)[] = holders.map(() => undefined)
  const overshadowedBefore = holders.map(noCopies)
  if (servers.length === 0) return { before, overshadowedBefore }
  const holderOf = servers.map(({ type, tier }) =>
    type === 'broker' ? tiers.length : tiers.findIndex(({ name }) => name === tier),
  )
  let position = 0
  const note = (server: number): void => {
    const holder = holderOf[server]!
    before[holder] ??= new Uint16Array(count)
    before[holder][position]! += 1
  }
  for (; position < count; position += 1) {
    if (position % slice === 0) yield
    segments.forEachCopy(indexes[position]!, note)
  }
  for (const index of overshadowedIndexes) {
    const copies = holders.map(() => 0)
    segments.forEachCopy(index, (server) => {
      copies[holderOf[server]!]! += 1
    })
    copies.forEach((count, holder) => {
      addCopies(overshadowedBefore[holder]!, 1, count, segments.sizeBytes(index))
    })
  }
  return { before, overshadowedBefore }
}

/** Places single copies where servers may not have room for all: what is there stays, then newest first. */
function* placeWhereTight({ cluster, datasources }: Outcome, holder: number): Generator<undefined, void> {
  const shape = cluster.holders[holder]!
  const demand = demandOf(datasources, holder)
  if (certainlyFits(shape, demand)) return
  for (const datasource of datasources) datasource.placed[holder] = new Uint16Array(datasource.columns.count)
  const room = new TierRoom(shape)
  for (const isKept of [true, false]) {
    let seen = 0
    for (const { datasource, position, copies } of newestFirst(datasources, holder)) {
      seen += 1
      if (seen % slice === 0) yield
      const kept = Math.min(copies, datasource.before[holder]?.[position] ?? 0)
      const wanted = isKept ? kept : copies - kept
      if (wanted === 0) continue
      const { bytesBefore } = datasource.columns
      const sizeBytes = bytesBefore[position + 1]! - bytesBefore[position]!
      datasource.placed[holder]![position]! += room.take(wanted, sizeBytes)
    }
  }
}

function demandOf(datasources: readonly DatasourceOutcome[], holder: number): TierDemand {
  const demand: TierDemand = { bytes: 0, largestSegmentBytes: 0 }
  for (const { columns, stretches, targets } of datasources) {
    const { bytesBefore } = columns
    for (const { from, to, rule } of stretches) {
      const copies = targets[rule]!.copies[holder]!
      if (copies === 0) continue
      demand.bytes += copies * (bytesBefore[to]! - bytesBefore[from]!)
      for (let position = from; position < to; position += 1) {
        const sizeBytes = bytesBefore[position + 1]! - bytesBefore[position]!
        if (sizeBytes > demand.largestSegmentBytes) demand.largestSegmentBytes = sizeBytes
      }
    }
  }
  return demand
}

interface Wanted {
  datasource: DatasourceOutcome
  position: number
  copies: number
}

/** The segments that are to have copies on a holder, newest first; the object that is answered is used again. */
function* newestFirst(datasources: readonly DatasourceOutcome[], holder: number): Generator<Wanted, void> {
  // One reader for each stretch would be many: those of a chain follow each other, so each chain is read backwards.
  const readers = datasources.flatMap((datasource) => readersOf(datasource, holder))
  const isNewer = (a: Reader, b: Reader): boolean =>
    a.start > b.start || (a.start === b.start && a.end > b.end)
  // The newest reader stands last; after its step it is put back in its place.
  readers.sort((a, b) => (isNewer(a, b) ? 1 : isNewer(b, a) ? -1 : 0))
  while (readers.length > 0) {
    const reader = readers.pop()!
    yield reader
    if (!reader.next()) continue
    let low = 0
    let high = readers.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (isNewer(readers[middle]!, reader)) high = middle
      else low = middle + 1
    }
    readers.splice(low, 0, reader)
  }
}

interface Reader extends Wanted {
  start: number
  end: number
  next(): boolean
}

/** A reader for each chain, standing on its newest segment that is to have copies. */
function readersOf(datasource: DatasourceOutcome, holder: number): Reader[] {
  const { columns, stretches, targets } = datasource
  let stretchAt = 0
  const readers: Reader[] = []
  for (const chainEnd of columns.chainEnds) {
    const ofChain: Stretch[] = []
    for (; stretchAt < stretches.length && stretches[stretchAt]!.to <= chainEnd; stretchAt += 1) {
      if (targets[stretches[stretchAt]!.rule]!.copies[holder]! > 0) ofChain.push(stretches[stretchAt]!)
    }
    const reader: Reader = {
      datasource,
      position: ofChain.at(-1)?.to ?? 0,
      copies: 0,
      start: 0,
      end: 0,
      next: () => {
        let stretch = ofChain.at(-1)
        if (stretch === undefined) return false
        reader.position -= 1
        if (reader.position < stretch.from) {
          ofChain.pop()
          stretch = ofChain.at(-1)
          if (stretch === undefined) return false
          reader.position = stretch.to - 1
        }
        reader.copies = targets[stretch.rule]!.copies[holder]!
        reader.start = columns.starts[reader.position]!
        reader.end = columns.ends[reader.position]!
        return true
      },
    }
    if (reader.next()) readers.push(reader)
  }
  return readers
}
