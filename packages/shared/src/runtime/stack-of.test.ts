import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { stackOf } from './stack-of.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'svc-stack-'))
after(() => rmSync(folder, { recursive: true }))

/** Returns an error from a bundle whose first line is line 3 of `source.ts`. */
async function errorOfBundle(name: string, map: string | undefined): Promise<unknown> {
  const file = path.join(folder, name)
  writeFileSync(file, "throw new Error('failed')\n")
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

test('has no stack trace of other values', () => assert.equal(stackOf('failed'), undefined))
