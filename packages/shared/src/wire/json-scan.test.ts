import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Failure } from '@svc/domain/failure'
import { JsonScan, maxNameBytes, maxNumberBytes, maxSpaceBytes } from './json-scan.ts'

const unlimited = { maxValues: Infinity, maxNames: Infinity, maxDepth: Infinity }

/** Scans a document in chunks of a size. Returns undefined, or the code and message of the failure. */
function scanned(
  text: string,
  limits: Partial<typeof unlimited>,
  chunkBytes = 1_000_000,
): string | undefined {
  const bytes = Buffer.from(text)
  const scan = new JsonScan({ ...unlimited, ...limits })
  try {
    for (let from = 0; from < bytes.length; from += chunkBytes)
      scan.take(bytes.subarray(from, from + chunkBytes))
    return undefined
  } catch (error) {
    return `${(error as Failure).code} ${(error as Failure).message}`
  }
}

describe('a scan of JSON', () => {
  const counted: readonly [text: string, values: number, names: number, depth: number][] = [
    ['null', 1, 0, 0],
    ['"a,b:{[\\"\\\\"', 1, 0, 0],
    [' [ ] ', 1, 0, 1],
    ['[1, -2.5e3 ,"x",true]', 5, 0, 1],
    ['[[],{},[[]]]', 5, 0, 3],
    ['{"a":1,"b":{"a":[2,"a:b"]}}', 6, 2, 3],
    ['{"a":1,"a":2,"a":3}', 4, 1, 1],
    ['{"ü\\u0001":"{"}', 2, 1, 1],
    ['{"":{"":""}}', 3, 1, 2],
  ]
  for (const [text, values, names, depth] of counted) {
    for (const chunkBytes of [1, 2, 3, 1000]) {
      it(`counts the contents of ${text} in chunks of ${chunkBytes}`, () => {
        const exact = { maxValues: values, maxNames: names, maxDepth: depth }
        assert.equal(scanned(text, exact, chunkBytes), undefined)
        assert.match(
          String(scanned(text, { ...exact, maxValues: values - 1 }, chunkBytes)),
          values === 1 ? /undefined/ : /^tooLarge The body has too many values: expected at most \[\d+\]$/,
        )
        if (names > 0)
          assert.match(
            String(scanned(text, { ...exact, maxNames: names - 1 }, chunkBytes)),
            /^tooLarge The body has too many different field names: expected at most \[\d+\]$/,
          )
        if (depth > 0)
          assert.match(
            String(scanned(text, { ...exact, maxDepth: depth - 1 }, chunkBytes)),
            /^invalidInput The body is nested too deeply: expected at most \[\d+\] levels/,
          )
      })
    }
  }

  it('limits the length of names, but not of other strings', () => {
    const longest = 'x'.repeat(maxNameBytes)
    assert.equal(scanned(`{"${longest}":1}`, {}, 100), undefined)
    assert.match(String(scanned(`{"${longest}x":1}`, {}, 100)), /a field name is longer than \[4096\] bytes/)
    assert.equal(scanned(`["${longest.repeat(10)}"]`, {}, 100), undefined)
  })

  it('limits the length of numbers', () => {
    const longest = '1'.repeat(maxNumberBytes)
    assert.equal(scanned(`[${longest},${longest}]`, {}, 100), undefined)
    assert.match(String(scanned(`[${longest}1]`, {}, 100)), /a number has more than \[1000\] digits/)
  })

  it('limits the length of the space between values', () => {
    const longest = ' \n'.repeat(maxSpaceBytes / 2)
    assert.equal(scanned(`[1,${longest}2,${longest}3]`, {}, 10_000), undefined)
    for (const text of [`[1,${longest} 2]`, `${longest} {}`, `{}${longest} `])
      assert.match(String(scanned(text, {}, 10_000)), /more than \[1048576\] spaces or line breaks in a row/)
  })

  it('counts many different names with small errors', () => {
    const names = (count: number) =>
      `{${Array.from({ length: count }, (_, index) => `"name${index}":1`).join()}}`
    assert.equal(scanned(names(20_000), { maxNames: 20_000 }), undefined)
    assert.match(String(scanned(names(20_600), { maxNames: 20_000 })), /too many different field names/)
  })

  it('fails long before the end', () => {
    const scan = new JsonScan({ ...unlimited, maxValues: 1000 })
    let chunks = 0
    assert.throws(() => {
      for (; ; chunks++) scan.take(Buffer.from('[],'.repeat(100)))
    }, /too many values/)
    assert.ok(chunks < 20)
  })
})
