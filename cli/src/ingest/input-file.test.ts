import assert from 'node:assert/strict'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, test } from 'node:test'
import { homeLayout } from '../home/index.ts'
import { findFile, isBelow, provideInput } from './input-file.ts'

const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'svc-input-')))
after(() => rmSync(folder, { recursive: true, force: true }))

const home = homeLayout(path.join(folder, 'home'))
const root = path.join(folder, 'root')
for (const created of [home.input, root]) mkdirSync(created, { recursive: true })
const inside = path.join(root, 'inside.csv')
const outside = path.join(folder, 'outside.csv')
writeFileSync(inside, 'inside')
writeFileSync(outside, 'outside')
symlinkSync(outside, path.join(root, 'link.csv'))
symlinkSync(root, path.join(folder, 'root-link'))

let copies = 0
const provide = async (
  file: string,
  allowedRoots: readonly string[],
  signal = new AbortController().signal,
) =>
  provideInput(await findFile(file), {
    allowedRoots,
    home,
    signal,
    onCopy: () => {
      copies += 1
    },
  })

describe('isBelow', () => {
  const cases: [string, string, boolean][] = [
    ['/a', '/a/b', true],
    ['/a', '/a', true],
    ['/', '/a', true],
    ['/a', '/ab', false],
    ['/a/b', '/a', false],
  ]
  for (const [below, file, expected] of cases) {
    test(`${file} in ${below}: ${expected}`, () => assert.equal(isBelow(below, file), expected))
  }
})

test('uses a file in an allowed folder in place, even through symbolic links', async () => {
  for (const roots of [[root], ['/nowhere', path.join(folder, 'root-link')]]) {
    const input = await provide(path.join(folder, 'root-link/inside.csv'), roots)
    assert.deepEqual([input.path, input.isCopy], [inside, false])
    await input.remove()
  }
  assert.equal(readFileSync(inside, 'utf8'), 'inside')
  assert.equal(copies, 0)
})

test('copies any other file into the home, and deletes the copy', async () => {
  for (const file of [outside, path.join(root, 'link.csv')]) {
    const input = await provide(file, [root, home.input])
    assert.equal(input.isCopy, true)
    assert.ok(isBelow(home.input, input.path))
    assert.equal(path.basename(input.path), 'outside.csv')
    assert.equal(readFileSync(input.path, 'utf8'), 'outside')
    await input.remove()
    assert.deepEqual(readdirSync(home.input), [])
  }
  assert.equal(copies, 2)
})

test('reports a file that cannot be provided, and leaves nothing behind', async () => {
  await assert.rejects(provide(outside, [root]), /^Failure: The overlord can read only files in \[.*root\] /)
  await assert.rejects(provide(path.join(folder, 'none.csv'), [root]), /none\.csv\] does not exist$/)
  await assert.rejects(provide(root, [root]), /root\] is not a file$/)
  await assert.rejects(provide(path.join(inside, 'x'), [root]), /^Failure: Failed to read file .*: ENOTDIR/)
  await assert.rejects(
    provide(outside, [home.input], AbortSignal.abort(new Error('enough'))),
    /^Error: enough$/,
  )
  assert.deepEqual(readdirSync(home.input), [])
})
