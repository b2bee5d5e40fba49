import { type CompactionSegment, type CompactionState, parseCompactionState } from '@svc/domain/compaction'
import {
  type Database,
  loadCompactionStates,
  loadSegmentChanges,
  type SegmentCursor,
} from '../postgres/index.ts'

/** The used segments of some datasources with their compaction states, updated incrementally. */
export interface CompactionInventory {
  /** Reads the changes of these datasources. */
  refresh(dataSources: readonly string[]): Promise<void>
  /** Returns the used segments of a datasource; the same list as long as nothing changed. */
  segmentsOf(dataSource: string): readonly CompactionSegment[]
}

interface Followed {
  readonly segments: Map<string, CompactionSegment>
  /** Undefined after a change. */
  list: readonly CompactionSegment[] | undefined
}

/** Creates an inventory that follows each datasource from its first refresh on. */
export function createCompactionInventory(database: Database): CompactionInventory {
  const states = new Map<number, CompactionState>()
  let followed = new Map<string, Followed>()
  let dataSourceOf = new Map<string, string>()
  let cursor: SegmentCursor | undefined

  async function loadStates(ids: ReadonlySet<number>): Promise<void> {
    const unknown = [...ids].filter((id) => !states.has(id))
    if (unknown.length === 0) return
    for (const [id, state] of await loadCompactionStates(database, unknown)) {
      states.set(id, parseCompactionState(state))
    }
  }

  return {
    refresh: async (dataSources) => {
      const isKnown = dataSources.every((dataSource) => followed.has(dataSource))
      if (!isKnown) {
        // The changes do not include datasources that were not followed so far, so read everything again.
        const names = new Set([...followed.keys(), ...dataSources])
        followed = new Map([...names].map((name) => [name, { segments: new Map(), list: undefined }]))
        dataSourceOf = new Map()
        cursor = undefined
      }
      if (dataSources.length === 0) return
      const { isAll, changed, removed, next } = await loadSegmentChanges(database, cursor, [
        ...followed.keys(),
      ])
      await loadStates(new Set(changed.flatMap(({ compactionState }) => compactionState ?? [])))
      const remove = (id: string): void => {
        const name = dataSourceOf.get(id)
        const owner = name === undefined ? undefined : followed.get(name)
        if (owner === undefined) return
        dataSourceOf.delete(id)
        owner.segments.delete(id)
        owner.list = undefined
      }
      if (isAll) {
        dataSourceOf.clear()
        for (const owner of followed.values()) {
          owner.segments.clear()
          owner.list = undefined
        }
      }
      for (const { used, compactionState, schemaId: _, ...segment } of changed) {
        if (!used) {
          remove(segment.id)
          continue
        }
        const owner = followed.get(segment.dataSource)
        const lastCompactionState = compactionState === null ? undefined : states.get(compactionState)
        const known = owner?.segments.get(segment.id)
        if (owner === undefined || (known && known.lastCompactionState === lastCompactionState)) continue
        owner.segments.set(segment.id, { ...segment, lastCompactionState })
        owner.list = undefined
        dataSourceOf.set(segment.id, segment.dataSource)
      }
      for (const id of removed) remove(id)
      cursor = next
    },
    segmentsOf: (dataSource) => {
      const owner = followed.get(dataSource)
      if (owner === undefined) return []
      owner.list ??= [...owner.segments.values()]
      return owner.list
    },
  }
}
