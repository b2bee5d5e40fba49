import { jsonObject, jsonObjectOf, jsonObjectOfTexts, jsonOf } from '@svc/domain/json'
import { JsonPieces } from '@svc/shared/http'
import type { Database } from '@svc/shared/postgres'
import {
  byInterval,
  type SegmentInventory,
  type ServedTogether,
  type ServerInventory,
  type SizeAndCount,
  servedSegments,
  sizeAndCount,
} from '../inventory/index.ts'
import { continued, payloadTextPages } from './payload-pieces.ts'

/** Reads the served segments. Refresh the segments once before, because a new leader knows none yet. */
export interface ServedReader {
  /** Returns the served segments of some datasources, ordered by their start. */
  of(dataSources: readonly string[], newestFirst?: boolean): AsyncGenerator<ServedTogether>
  /** Returns the served segments of one datasource, or undefined if there are none. */
  ofOne(
    dataSource: string | undefined,
    newestFirst?: boolean,
  ): Promise<AsyncGenerator<ServedTogether> | undefined>
  /** Returns the payloads of segments as JSON. */
  payloads(served: AsyncIterable<ServedTogether>): AsyncGenerator<string[]>
  /** Returns the intervals of one datasource, newest first: with segments and servers, with sizes, or as a list. */
  intervals(
    served: AsyncIterable<ServedTogether>,
    detail: { readonly simple: boolean; readonly full: boolean },
  ): Promise<object>
  /** Returns the intervals of some datasources, newest first, with sizes, or with segments and servers. */
  intervalsByDatasource(served: AsyncIterable<ServedTogether>, full: boolean): AsyncGenerator<string>
}

/** Creates the reader. */
export function createServedReader(
  database: Database,
  segments: SegmentInventory,
  servers: ServerInventory,
): ServedReader {
  const of = (dataSources: readonly string[], newestFirst = false) =>
    servedSegments(segments, servers, dataSources, newestFirst)

  async function* withServers(members: ServedTogether): AsyncGenerator<(readonly [string, string])[]> {
    const serversOf = new Map(members.map(({ segment, servers: names }) => [segment.id, names]))
    for await (const { ids, texts } of payloadTextPages(database, [[...serversOf.keys()]]))
      yield ids.map((id) => {
        const metadata = texts.get(id) ?? 'null'
        const names = JSON.stringify(serversOf.get(id))
        return [
          id,
          jsonObjectOfTexts([
            ['metadata', metadata],
            ['servers', names],
          ]),
        ] as const
      })
  }

  function* byDatasource(members: ServedTogether, full: boolean) {
    for (const [name, own] of Map.groupBy(members, ({ segment }) => segment.dataSource))
      yield [name, full ? jsonObject(withServers(own)) : jsonOf(sizeAndCount(own))] as const
  }

  return {
    of,
    ofOne: async (dataSource = '', newestFirst = false) => {
      const served = of([dataSource], newestFirst)
      const first = await served.next()
      return first.done ? undefined : continued(first.value, served)
    },
    payloads: async function* (served) {
      for await (const { ids, texts } of payloadTextPages(database, idsOf(served)))
        yield ids.flatMap((id) => texts.get(id) ?? [])
    },
    intervals: async (served, { simple, full }) => {
      if (full)
        return new JsonPieces(jsonObjectOf(eachInterval(served, (own) => jsonObject(withServers(own)))))
      const sizes = await sizesByInterval(served)
      return simple ? sizes : Object.keys(sizes)
    },
    intervalsByDatasource: (served, full) =>
      jsonObjectOf(eachInterval(served, (own) => jsonObjectOf(byDatasource(own, full)))),
  }
}

async function* eachInterval<Value>(
  served: AsyncIterable<ServedTogether>,
  describe: (own: ServedTogether) => Value,
): AsyncGenerator<readonly [interval: string, value: Value]> {
  for await (const together of served)
    for (const [interval, own] of byInterval(together)) yield [interval, describe(own)]
}

/** Returns the IDs of served segments. */
export async function* idsOf(served: AsyncIterable<ServedTogether>): AsyncGenerator<string[]> {
  for await (const together of served) yield together.map(({ segment }) => segment.id)
}

/** Returns the sizes of served segments by interval. Intervals without segments are left out. */
export async function sizesByInterval(
  served: AsyncIterable<ServedTogether>,
): Promise<Record<string, SizeAndCount>> {
  const sizes: Record<string, SizeAndCount> = {}
  for await (const [interval, size] of eachInterval(served, sizeAndCount)) sizes[interval] = size
  return sizes
}
