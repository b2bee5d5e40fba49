// launcher/install.mjs, which ./svc runs at its first start, with a package manager that does nothing.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { repositoryRoot } from '@svc/cli/home'
import { waitUntil } from '@svc/shared/testing'
import { newTestFolder, removeTestFolder } from './support/test-folder.ts'

describe('the installation of dependencies', () => {
  let folder: string
  let lock: string

  beforeEach(() => {
    folder = newTestFolder()
    for (const name of ['bin', 'launcher/node', '.cache/launcher'])
      mkdirSync(path.join(folder, name), { recursive: true })
    for (const file of ['install.mjs', 'debian-packages.mjs'])
      copyFileSync(path.join(repositoryRoot, 'launcher', file), path.join(folder, 'launcher', file))
    write('package.json', '{"config":{"pnpm":"1.0.0","node":"26.0.0"}}')
    write('pnpm-lock.yaml', 'one')
    write('launcher/node/package-lock.json', 'two')
    // It runs in the root of the checkout.
    write('bin/npx', '#!/bin/sh\nmkdir -p node_modules; echo run >>runs; sleep $SLEEP\n', 0o755)
    lock = path.join(folder, '.cache/launcher/lock')
  })
  afterEach(() => removeTestFolder(folder))

  const write = (file: string, text: string, mode = 0o644): void =>
    writeFileSync(path.join(folder, file), text, { mode })

  /** Runs the installation; returns what it prints. Fails if it takes longer than 30 s. */
  async function install(environment: NodeJS.ProcessEnv = {}): Promise<string> {
    const { stderr } = await promisify(execFile)(process.execPath, ['launcher/install.mjs'], {
      cwd: folder,
      env: {
        ...process.env,
        SLEEP: '0',
        ...environment,
        PATH: `${folder}/bin${path.delimiter}${process.env.PATH}`,
      },
      timeout: 30_000,
    })
    return stderr
  }

  const runs = (): number => readFileSync(path.join(folder, 'runs'), 'utf8').split('\n').length - 1

  test('happens once', async () => {
    assert.match(await install(), /^Installed dependencies \(/)
    assert.equal(await install(), '')
    assert.equal(runs(), 1)
    assert.equal(existsSync(lock), false)
  })

  test('waits for another process that is installing, however long that takes', async () => {
    const first = install({ SLEEP: '12' })
    await waitUntil('the first installation has the lock', () => existsSync(lock))
    assert.match(await install(), /^Waiting for another \.\/svc process to finish installing/)
    assert.match(await first, /^Installed dependencies \(/)
    assert.equal(runs(), 1)
  })

  for (const [what, holder] of [
    ['was killed before it wrote its process ID', ''],
    ['was killed, and another program has its process ID', String(process.pid)],
  ] as const)
    test(`does not wait forever for a process that ${what}`, async () => {
      writeFileSync(lock, holder)
      assert.match(await install(), /Installed dependencies \(/)
    })
})
