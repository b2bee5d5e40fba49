import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { stackOf } from './stack-of.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'svc-stack-'))
after(() => rmSync(folder, { recursive: true }))

/** Returns the error that a bundle throws. */
async function errorOfBundle(
  name: string,
  map: string | undefined,
  text = "throw new Error('failed')\n",
): Promise<unknown> {
  const file = path.join(folder, name)
  writeFileSync(file, text)
  if (map !== undefined) writeFileSync(`${file}.map`, map)
  return await import(pathToFileURL(file).href).catch((error: unknown) => error)
}

test('shows positions in the sources', async () => {
  // One mapping: line 1, column 1 of the bundle is line 3, column 1 of the source.
  const map = JSON.stringify({ version: 3, sources: ['../source.ts'], names: [], mappings: 'AAEA' })
  const error = await errorOfBundle('mapped.mjs', map)
  assert.match(
    stackOf(error) ?? '',
    new RegExp(`^Error: failed\n    at ${path.dirname(folder)}/source\\.ts:3:1\n`),
  )
})

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/** A number as source maps write it: base 64, and the lowest bit of the first digit is the sign. */
function encoded(value: number): string {
  let rest = value < 0 ? (-value << 1) | 1 : value << 1
  let text = ''
  do {
    text += digits[(rest & 31) | (rest > 31 ? 32 : 0)]
    rest >>= 5
  } while (rest > 0)
  return text
}

/** The source map of a bundle of one line, in which each mapping is a line of the source: its column, and a name. */
function mapOf(mappings: readonly (readonly [column: number, name?: string])[]): string {
  let [column, names] = [0, 0]
  const segments = mappings.map(([at, name], line) => {
    const numbers = [
      at - column,
      0,
      line === 0 ? 0 : 1,
      0,
      ...(name === undefined ? [] : [Math.min(names++, 1)]),
    ]
    column = at
    return numbers.map(encoded).join('')
  })
  const given = mappings.flatMap(([, name]) => name ?? [])
  return JSON.stringify({ version: 3, sources: ['../source.ts'], names: given, mappings: segments.join(',') })
}

test('shows the names in the sources', async () => {
  const text = 'class a{b(){c()}}class d extends a{}function c(){throw new Error("failed")}new d().b()'
  const map = mapOf([
    [text.indexOf('a{'), 'Reader'],
    [text.indexOf('c()}')],
    [text.indexOf('d extends'), 'FileReader'],
    [text.indexOf('c(){'), 'fail'],
    [text.indexOf('throw')],
    [text.indexOf('new d')],
  ])
  const source = `${path.dirname(folder)}/source\\.ts`
  assert.match(
    stackOf(await errorOfBundle('named.mjs', map, text)) ?? '',
    new RegExp(
      `^Error: failed\n    at fail \\(${source}:5:1\\)\n    at FileReader\\.b \\(${source}:2:1\\)\n`,
    ),
  )
})

test('shows positions in the bundle if there is no source map, or an invalid one', async () => {
  for (const [name, map] of [
    ['unmapped.mjs', undefined],
    ['invalid.mjs', 'x'],
  ] as const) {
    const error = await errorOfBundle(name, map)
    assert.equal(stackOf(error), (error as Error).stack)
    assert.match(stackOf(error) ?? '', new RegExp(`${name}:1:7`))
  }
})

test('does not read a file because of a message that looks like a frame', () => {
  const file = path.join(folder, 'other.json')
  writeFileSync(file, JSON.stringify({ version: 3, sources: ['../source.ts'], names: [], mappings: 'AAEA' }))
  // The part after ? is not a part of the path, so the suffix of a source map would not be one either.
  for (const end of ['?', '#']) {
    const error = new Error(`failed\n    at run (${pathToFileURL(file).href}${end}:1:1)`)
    assert.equal(stackOf(error), error.stack)
  }
})

test('takes no longer for long messages', () => {
  for (const text of [' at '.repeat(50_000), ` at ${'a'.repeat(100_000)}`, 'file:'.repeat(50_000)]) {
    const error = new Error(`failed\n   ${text}`)
    const startedAt = performance.now()
    assert.equal(stackOf(error), error.stack)
    assert.ok(performance.now() - startedAt < 1000)
  }
})

test('has no stack trace of other values', () => assert.equal(stackOf('failed'), undefined))
