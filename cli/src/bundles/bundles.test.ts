import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { bundleOf } from './index.ts'

const folder = path.dirname(bundleOf('svc'))

/** The bundles with the source files that they contain. */
const bundles = globSync(path.join(folder, '*.mjs')).map((file) => {
  const { sources } = JSON.parse(readFileSync(`${file}.map`, 'utf8')) as { readonly sources: string[] }
  const files = sources.map((source) => path.resolve(folder, source)).filter((source) => existsSync(source))
  return { file, text: readFileSync(file, 'utf8'), files }
})

test('classes keep the names that messages contain', () => {
  const checked: string[] = []
  for (const { text, files } of bundles)
    for (const file of files) {
      const source = readFileSync(file, 'utf8')
      if (!file.includes('node_modules') || !/\bthis\.constructor\.name\b/.test(source)) continue
      for (const [, name] of source.matchAll(/(?:^|^export |= )class (?!extends)(\w+)/gm)) {
        assert.ok(text.includes(`"${name}")`), `${name} in [${file}]: add the file to [filesOfNamedClasses]`)
        checked.push(name!)
      }
    }
  for (const name of ['InvalidCredentialsError', 'CommanderError', 'ReplyError', 'MaxRetriesPerRequestError'])
    assert.ok(checked.includes(name), name)
})

test('bundles contain no path of this machine', () => {
  const root = path.resolve(import.meta.dirname, '../../..')
  for (const { file, text } of bundles) {
    assert.ok(!text.includes(root), file)
    assert.ok(!readFileSync(`${file}.map`, 'utf8').includes(root), file)
  }
})

test("bundles leave out zod's translations, which an import of its name `z` would add", () => {
  const translations = bundles.flatMap(({ files }) =>
    files.filter((file) => /\/zod\/.*\/locales\/(?!en\.|index\.)/.test(file)),
  )
  assert.deepEqual(translations, [])
})
