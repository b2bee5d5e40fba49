import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { readJson } from './index.ts'

describe('a JSON file', () => {
  test('means the same as with JSON.parse', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 5 }), fc.constantFrom(undefined, 1), (text, indent) => {
        const json: unknown = JSON.parse(text)
        assert.deepEqual(readJson(JSON.stringify(json, null, indent), 'x').json, json)
      }),
    )
    assert.deepEqual(Object.keys(readJson('{"__proto__": 1}', 'x').json as object), ['__proto__'])
  })

  test('has positions of values, or of what contains missing ones', () => {
    const { position } = readJson('{\n "a": [1,\n  {"b.c": 2}],\n "d": {}\n}', 'x')
    const fields = ['', 'a', 'a[0]', 'a[1]', 'a[1].b.c', 'a[1].none', 'a[7]', 'd', 'none', 'd.none[3].x']
    assert.deepEqual(fields.map(position), [
      ...['1:1', '2:7', '2:8', '3:3', '3:11', '3:3', '2:7', '4:7', '1:1', '4:7'],
    ])
  })

  const long = 'x'.repeat(5_000_000)
  test('may have long strings', () => {
    assert.deepEqual(readJson(`["${long}\\n"]`, 'x').json, [`${long}\n`])
  })

  const cases: [text: string, expected: string][] = [
    ['', '1:1: Invalid JSON: the file ends too early'],
    ['{"a": 1', '1:8: Invalid JSON: the file ends too early'],
    ['{"a": "x', '1:7: Invalid JSON: unexpected ["], expected a value'],
    ['hello', '1:1: Invalid JSON: unexpected [hello], expected a value'],
    ['{"a":\n 01}', '2:2: Invalid JSON: unexpected [01], expected a value'],
    ['[1,]', '1:4: Invalid JSON: unexpected []], expected a value'],
    ['{"a": 1,}', '1:9: Invalid JSON: unexpected [}], expected the name of a field'],
    ['{a: 1}', '1:2: Invalid JSON: unexpected [a], expected the name of a field'],
    ['{1: 1}', '1:2: Invalid JSON: unexpected [1], expected the name of a field'],
    ['{"a" 1}', '1:6: Invalid JSON: unexpected [1], expected [:]'],
    ['[1 2]', '1:4: Invalid JSON: unexpected [2], expected [,] or []]'],
    ['{} {}', '1:4: Invalid JSON: unexpected [{], expected the end of the file'],
    ['{"a": 1,\n "\\u0061": 2}', '2:2: Duplicate [a]: expected only one'],
    ['["\u001b[2J"]', '1:2: Invalid JSON: unexpected ["\\u001b[2J"], expected a value'],
    [`${'['.repeat(100_000)}`, '1:66: Values are nested too deeply: expected at most [64] levels'],
    [`${'{"a":'.repeat(100_000)}`, '1:326: Values are nested too deeply: expected at most [64] levels'],
  ]
  for (const [text, expected] of cases)
    test(`that starts with ${text.slice(0, 20)} is refused with its position`, () => {
      assert.throws(() => readJson(text, 'x.json'), { code: 'invalidInput', message: `x.json:${expected}` })
    })
})
