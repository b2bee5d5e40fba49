import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jsonObjectOf } from '@svc/domain/json'
import type { SupervisorVersion } from '@svc/shared/postgres'
import { versionsById } from './supervisors.ts'

const version = (id: string, createdAt: number): SupervisorVersion => ({
  id,
  spec: `{"type":"autocompact","of":"${id}"}`,
  createdAt,
})

for (const pages of [
  [],
  [[version('a', 2), version('a', 1), version('b', 0)]],
  [[version('a', 4), version('a', 3)], [version('a', 2)], [version('b', 1), version('c', 0)]],
])
  test(`the history has the versions of each supervisor, in pages of [${pages.map(({ length }) => length)}]`, async () => {
    async function* read() {
      yield* pages
    }
    let text = ''
    for await (const piece of jsonObjectOf(versionsById(read()))) text += piece
    const expected = Map.groupBy(pages.flat(), ({ id }) => id)
    assert.deepEqual(
      JSON.parse(text),
      Object.fromEntries(
        [...expected].map(([id, versions]) => [
          id,
          versions.map(({ createdAt, spec }) => ({
            spec: JSON.parse(spec),
            version: new Date(createdAt).toISOString(),
          })),
        ]),
      ),
    )
  })
