import { jsonList } from '@svc/shared/http'
import { type Database, loadPayloadTexts } from '@svc/shared/postgres'

// Payloads that are read at a time.
const segmentsOfPage = 1000

/** A datasource with the payloads of its segments, given as lists of JSON texts; the text of it, piece by piece. */
export async function* wholeDatasource(
  name: string,
  payloads: AsyncIterable<readonly string[]>,
): AsyncGenerator<string> {
  yield `{"name":${JSON.stringify(name)},"properties":{},"segments":`
  yield* jsonList(payloads)
  yield '}'
}

/** A sequence again, of which the first was taken to see whether there is any. */
export async function* continued<One>(first: One, others: AsyncGenerator<One>): AsyncGenerator<One> {
  yield first
  yield* others
}

/** The payloads of segments as JSON texts by their ids, as many at a time as are read at once. */
export async function* payloadTextPages(
  database: Database,
  idLists: AsyncIterable<readonly string[]> | Iterable<readonly string[]>,
): AsyncGenerator<{ readonly ids: readonly string[]; readonly texts: ReadonlyMap<string, string> }> {
  for await (const ids of inPages(idLists)) yield { ids, texts: await loadPayloadTexts(database, ids) }
}

/** The same ids in pages of about as many as are read at a time. */
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
