import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { finish } from '@svc/domain/steps'
import fc from 'fast-check'
import { type PieceLengths, parseInPieces, parseJsonText } from './parse-json-text.ts'

const parsePieces = (text: string, lengths: PieceLengths): unknown => finish(parseInPieces(text, lengths))

/** The value of a text, or that it has none. */
function outcome(parse: () => unknown): unknown {
  try {
    return { value: parse() }
  } catch (error) {
    assert.ok(error instanceof SyntaxError, String(error))
    return 'invalid'
  }
}

const lengths = fc.record({
  pieceLength: fc.integer({ min: 1, max: 60 }),
  minLongStringLength: fc.constantFrom(3, 8, 1000),
  stringPieceLength: fc.integer({ min: 1, max: 20 }),
})

describe('a JSON text that is parsed in pieces', () => {
  it('has the value that JSON.parse returns', () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 6, noUnicodeString: false }),
        fc.constantFrom(undefined, 1, '\t'),
        lengths,
        (value, indent, length) => {
          const text = JSON.stringify(value, undefined, indent)
          const result = parsePieces(text, length)
          assert.deepStrictEqual(result, JSON.parse(text))
          // The order of fields is the same, too.
          assert.equal(JSON.stringify(result), JSON.stringify(JSON.parse(text)))
        },
      ),
      { numRuns: 1000 },
    )
  })

  it('is rejected exactly if JSON.parse rejects it', () => {
    const token = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '"a":',
      '"__proto__":',
      '1',
      'null',
      ' ',
      '\u00a0',
      '"',
      '\\',
      '"\\""',
      '"\\u00e9\\\\"',
      '"\\ud83d\\ude00"',
      '"\\u00"',
      '"\\x"',
      '"a\nb"',
      '"long enough"',
      '[1,2]',
      '{"b":[3]}',
    )
    const texts = fc.array(token, { maxLength: 14 }).map((tokens) => tokens.join(''))
    fc.assert(
      fc.property(texts, lengths, (text, length) => {
        assert.deepStrictEqual(
          outcome(() => parsePieces(text, length)),
          outcome(() => JSON.parse(text)),
        )
      }),
      { numRuns: 20_000 },
    )
  })

  it('is rejected exactly if JSON.parse rejects it, with one character of a valid text replaced', () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 5 }),
        fc.nat(),
        fc.constantFrom('', ',', '{', '}', '[', ']', '"', ':', '0', ' '),
        lengths,
        (value, place, replacement, length) => {
          const valid = JSON.stringify(value)
          const at = place % valid.length
          const text = valid.slice(0, at) + replacement + valid.slice(at + 1)
          assert.deepStrictEqual(
            outcome(() => parsePieces(text, length)),
            outcome(() => JSON.parse(text)),
          )
        },
      ),
      { numRuns: 10_000 },
    )
  })

  it('pauses within long spaces, numbers, and strings, at any place', () => {
    const spaces = ' '.repeat(100_000)
    const digits = '1'.repeat(100_000)
    const texts = [`${spaces}{}`, `{}${spaces}`, `[1,${spaces}2]`, `{"a"${spaces}:1}`, digits, `"${digits}"`]
    for (const text of texts) {
      const steps = parseInPieces(text, {
        pieceLength: 1000,
        minLongStringLength: 10_000,
        stringPieceLength: 1000,
      })
      let pauses = 0
      while (!steps.next().done) pauses += 1
      assert.ok(pauses >= 90, `${pauses} pauses`)
    }
  })

  it('pauses after each piece, even within a long string', () => {
    const longString = 'x'.repeat(20_000)
    const text = JSON.stringify({ list: Array(10_000).fill({}), deep: { text: longString } })
    const steps = parseInPieces(text, {
      pieceLength: 1000,
      minLongStringLength: 10_000,
      stringPieceLength: 1000,
    })
    let pauses = 0
    for (;;) {
      const step = steps.next()
      if (step.done) break
      pauses += 1
    }
    assert.ok(pauses >= 50, `${pauses} pauses`)
  })

  it('lets other work run while it is parsed', async () => {
    let turns = 0
    const timer = setInterval(() => (turns += 1), 1)
    const value = (await parseJsonText(`[${Array(1_000_000).fill('{}').join(',')}]`)) as object[]
    clearInterval(timer)
    assert.equal(value.length, 1_000_000)
    assert.ok(turns >= 5, `${turns} turns`)
  })
})
