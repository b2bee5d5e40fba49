import { jsonList, jsonObjectOf, jsonOf } from '@svc/domain/json'
import { type Database, loadPayloadTexts } from '@svc/shared/postgres'

// Payloads per read.
const segmentsOfPage = 1000

/** Generates the JSON of a datasource in pieces. `payloads` are the payloads of its segments as JSON. */
export const fullDatasource = (
  name: string,
  payloads: AsyncIterable<readonly string[]>,
): AsyncGenerator<string> =>
  jsonObjectOf([
    ['name', jsonOf(name)],
    ['properties', jsonOf({})],
    ['segments', jsonList(payloads)],
  ])

/** Puts the first element back in front of a sequence. It was read to check whether the sequence is empty. */
export async function* continued<One>(first: One, others: AsyncGenerator<One>): AsyncGenerator<One> {
  yield first
  yield* others
}

/** Yields the payloads of segments as JSON by segment ID, one page per read. */
export async function* payloadTextPages(
  database: Database,
  idLists: AsyncIterable<readonly string[]> | Iterable<readonly string[]>,
): AsyncGenerator<{ readonly ids: readonly string[]; readonly texts: ReadonlyMap<string, string> }> {
  for await (const ids of inPages(idLists)) yield { ids, texts: await loadPayloadTexts(database, ids) }
}

/** Regroups IDs into pages of `segmentsOfPage`. */
async function* inPages(
  idLists: AsyncIterable<readonly string[]> | Iterable<readonly string[]>,
): AsyncGenerator<readonly string[]> {
  let page: string[] = []
  for await (const ids of idLists) {
    for (const id of ids) {
      page.push(id)
      if (page.length < segmentsOfPage) continue
      yield page
      page = []
    }
  }
  if (page.length > 0) yield page
}
