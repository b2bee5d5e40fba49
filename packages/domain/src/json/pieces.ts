import { type JsonMember, memberText } from './compose.ts'

type Sequence<Item> = AsyncIterable<Item> | Iterable<Item>

/** Generates a JSON list whose members come in pages of any size. */
export const jsonList = (pages: Sequence<readonly string[]>): AsyncGenerator<string> =>
  enclosed('[', pages, (page) => (page.length === 0 ? [] : [page.join(',')]), ']')

/** Generates a JSON object whose members come in pages of any size. */
export const jsonObject = (pages: Sequence<readonly JsonMember[]>): AsyncGenerator<string> =>
  enclosed('{', pages, (page) => (page.length === 0 ? [] : [page.map(memberText).join(',')]), '}')

/** Generates a JSON list of values that are generated in pieces themselves. */
export const jsonListOf = (members: Sequence<Sequence<string>>): AsyncGenerator<string> =>
  enclosed('[', members, (pieces) => pieces, ']')

/** Generates a JSON object of values that are generated in pieces themselves. */
export const jsonObjectOf = (
  members: Sequence<readonly [name: string, value: Sequence<string>]>,
): AsyncGenerator<string> =>
  enclosed(
    '{',
    members,
    async function* ([name, value]) {
      yield memberText([name, ''])
      yield* value
    },
    '}',
  )

/** Generates values with commas between them. A value without pieces is left out. */
async function* enclosed<Item>(
  opening: string,
  items: Sequence<Item>,
  piecesOf: (item: Item) => Sequence<string>,
  closing: string,
): AsyncGenerator<string> {
  let before = opening
  for await (const item of items) {
    for await (const piece of piecesOf(item)) {
      yield before + piece
      before = ''
    }
    if (before === '') before = ','
  }
  yield before === opening ? opening + closing : closing
}

/** Generates the JSON of a value in one piece. */
export function* jsonOf(value: unknown): Generator<string> {
  yield JSON.stringify(value)
}
