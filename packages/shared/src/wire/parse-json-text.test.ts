import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parseInPieces, parseJsonText } from './parse-json-text.ts'

function parsePieces(text: string, pieceLength: number): unknown {
  const steps = parseInPieces(text, pieceLength)
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

/** The value of a text, or that it has none. */
function outcome(parse: () => unknown): unknown {
  try {
    return { value: parse() }
  } catch (error) {
    assert.ok(error instanceof SyntaxError, String(error))
    return 'invalid'
  }
}

const pieceLength = fc.integer({ min: 1, max: 60 })

describe('a JSON text that is parsed in pieces', () => {
  it('has the value that JSON.parse returns', () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 6, noUnicodeString: false }),
        fc.constantFrom(undefined, 1, '\t'),
        pieceLength,
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
      '[1,2]',
      '{"b":[3]}',
    )
    const texts = fc.array(token, { maxLength: 14 }).map((tokens) => tokens.join(''))
    fc.assert(
      fc.property(texts, pieceLength, (text, length) => {
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
        pieceLength,
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

  it('lets other work run while millions of small objects are parsed', async () => {
    const text = `{"list":[${Array(400_000).fill('{}').join(',')}]}`
    let longestMs = 0
    let lastAt = performance.now()
    const timer = setInterval(() => {
      longestMs = Math.max(longestMs, performance.now() - lastAt)
      lastAt = performance.now()
    }, 1)
    const value = (await parseJsonText(text)) as { list: object[] }
    clearInterval(timer)
    assert.equal(value.list.length, 400_000)
    assert.ok(longestMs < 200, `blocked for ${Math.round(longestMs)} ms`)
  })
})
