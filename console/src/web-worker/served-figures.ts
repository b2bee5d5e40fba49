import { parseInstant } from '@svc/domain/time'
import type { InventoryFigures } from './messages.ts'

/** The sizes of the served segments of a datasource, as the coordinator returns them. */
export interface ServedDatasource {
  readonly name: string
  readonly properties: {
    readonly tiers: Readonly<Record<string, { readonly replicatedSize: number }>>
    readonly segments: {
      readonly count: number
      readonly size: number
      readonly minTime: string
      readonly maxTime: string
    }
  }
}

/**
 * Returns the figures of the datasources that a user may read who may not read the state of the cluster. Segments that are
 * not served are unknown.
 */
export function servedFigures(
  revision: string,
  now: number,
  names: readonly string[],
  served: readonly ServedDatasource[],
): InventoryFigures {
  const byName = new Map(served.map(({ name, properties }) => [name, properties]))
  return {
    revision,
    now,
    isLocal: false,
    tiers: [],
    datasources: [...new Set([...names, ...byName.keys()])].sort().map((name) => {
      const { segments, tiers = {} } = byName.get(name) ?? {}
      return {
        name,
        segments: segments?.count ?? 0,
        bytes: segments?.size ?? 0,
        overshadowed: 0,
        extent: segments && {
          start: parseInstant(segments.minTime)!,
          end: parseInstant(segments.maxTime)!,
        },
        unserved: 0,
        underReplicated: 0,
        bytesByTier: Object.fromEntries(
          Object.entries(tiers).map(([tier, { replicatedSize }]) => [tier, replicatedSize]),
        ),
      }
    }),
  }
}
