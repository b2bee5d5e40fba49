import assert from 'node:assert/strict'
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { repositoryRoot } from '../home/index.ts'

const page = readFileSync(path.join(repositoryRoot, 'ARCHITECTURE.md'), 'utf8')

/** Returns the texts in code font of a section, up to the next heading. */
function codeOf(heading: string): string[] {
  const section = page.split(`\n${heading}\n`)[1]?.split(/\n##+ /)[0]
  assert.ok(section, `ARCHITECTURE.md has no section [${heading}]`)
  return [...section.matchAll(/`([^`]+)`/g)].map((match) => match[1]!)
}

test('the folder tables name every folder', () => {
  for (const [folder, heading] of [
    ['packages/domain/src', '### `packages/domain`'],
    ['packages/shared/src', '### `packages/shared`'],
    ['services/coordinator/src', '### `services`'],
    ['cli/src', '### `cli`'],
  ] as const) {
    const named = new Set(codeOf(heading))
    const names = readdirSync(path.join(repositoryRoot, folder), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
    assert.ok(names.length >= 10)
    assert.deepEqual(
      names.filter((name) => !named.has(name)),
      [],
      folder,
    )
  }
})

test('the table of changes names files that exist', () => {
  const paths = codeOf('## Where to change what').filter((text) => /^[\w-]+(\/[\w-]+)*(\.\w+)?$/.test(text))
  const startsAtRoot = (file: string) => /^(packages|services|cli|console|docs)\//.test(file)
  assert.ok(paths.filter(startsAtRoot).length > 20)
  for (const file of paths) {
    // Others are next to a file that the row has named with its full path.
    if (startsAtRoot(file)) assert.ok(existsSync(path.join(repositoryRoot, file)), `[${file}] does not exist`)
    else if (file.endsWith('.ts')) {
      const found = globSync(`{packages,services,cli}/**/src/**/${file}`, {
        cwd: repositoryRoot,
        exclude: ['**/node_modules/**'],
      })
      assert.ok(found.length > 0, `No file is named [${file}]`)
    }
  }
})
