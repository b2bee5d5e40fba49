import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, describe, it } from 'node:test'
import { streamList } from './stream-list.ts'

async function* of(...parts: (readonly unknown[])[]): AsyncGenerator<readonly unknown[]> {
  for (const part of parts) yield part
}

describe('a list that is streamed', () => {
  const lists = new Map<string, () => AsyncGenerator<readonly unknown[]>>()
  const failures: unknown[] = []
  const server = createServer((request, response) => {
    streamList(response, lists.get(request.url ?? '')!()).catch((error: unknown) => {
      failures.push(error)
      response.destroy()
    })
  })
  after(() => server.close())
  const listening = new Promise<string>((resolve) =>
    server.listen(0, '127.0.0.1', () =>
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    ),
  )
  const cases: readonly [name: string, parts: (readonly unknown[])[]][] = [
    ['of nothing', []],
    ['of nothing in parts', [[], []]],
    ['of one part', [[1, 'a', { b: null }]]],
    ['of parts, some of them empty', [[], [1], [], [2, 3], []]],
  ]
  for (const [name, parts] of cases) {
    it(`${name} is JSON`, async () => {
      lists.set('/list', () => of(...parts))
      const answer = await fetch(`${await listening}/list`)
      assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
      assert.deepEqual(await answer.json(), parts.flat())
    })
  }

  it('that breaks off does not look whole', async () => {
    lists.set('/broken', async function* () {
      yield [1]
      throw new Error('the store is away')
    })
    await assert.rejects(fetch(`${await listening}/broken`).then((answer) => answer.json()))
    assert.match(String(failures.at(-1)), /the store is away/)
  })

  it('that fails at once has not begun', async () => {
    // biome-ignore lint/correctness/useYield: it fails before
    lists.set('/never', async function* () {
      throw new Error('at once')
    })
    await assert.rejects(fetch(`${await listening}/never`))
    assert.match(String(failures.at(-1)), /at once/)
  })
})
