import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { repositoryRoot } from '../home/index.ts'
import { batchTests, isPure, needsOwnProcess } from './shared-processes.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'svc-shared-processes-'))
after(() => rmSync(folder, { recursive: true }))

/** Writes a test file; returns its path as that of a test of this repository. */
function writeTest(name: string, lines: readonly string[]): string {
  const file = path.join(folder, `${name}.test.mjs`)
  writeFileSync(file, ["import test from 'node:test'", ...lines].join('\n'))
  return path.relative(repositoryRoot, file)
}

/** Runs the only batch of these tests. */
function runBatch(tests: readonly string[]) {
  const { batches, others } = batchTests(tests, folder)
  const [batch] = batches
  assert.deepEqual([batch?.tests, others], [tests, []])
  // A test runner within a test would only report to the outer one.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const args = ['--test', '--test-reporter=tap', batch!.file]
  const { status, stdout } = spawnSync(process.execPath, args, { env, encoding: 'utf8' })
  const isComplete = batch!.isComplete()
  if (isComplete) rmSync(path.join(folder, 'batch-1.complete'))
  return { status, stdout, isComplete }
}

describe('a pure test', () => {
  it('imports no test support and no module of Node.js that has an effect', () => {
    const file = 'cli/src/rules/rules.test.ts'
    const imports = (...names: string[]) => names.map((name) => `import x from '${name}'\n`).join('')
    assert.equal(
      isPure(file, imports('node:test', 'node:assert/strict', './rules.ts', '@svc/domain/rules')),
      true,
    )
    const support = [
      '../testing/index.ts',
      '@svc/shared/testing',
      './test-queries.ts',
      '../sql/test-queries.ts',
    ]
    for (const name of ['node:fs', 'node:child_process', ...support]) {
      assert.equal(isPure(file, imports('node:test', name)), false, name)
      assert.equal(isPure(file, `await import('${name}')`), false, name)
    }
  })

  it('runs by itself if there is no other one', () => {
    const tests = [writeTest('alone', [])]
    assert.deepEqual(batchTests(tests, folder), { batches: [], others: tests })
  })
})

describe('a test with test support', () => {
  it('shares a process unless it affects or measures its process', () => {
    assert.equal(
      needsOwnProcess("import { createTestStores } from '@svc/shared/testing'\nprocess.pid"),
      false,
    )
    for (const source of [
      "import { spawn } from 'node:child_process'",
      "process.env.HOME = '/nowhere'",
      'process.on("SIGTERM", stop)',
      'const used = process.cpuUsage()',
      "mock.method(console, 'log')",
      'cluster = await startCluster({ home })',
    ]) {
      assert.equal(needsOwnProcess(source), true, source)
    }
  })
})

describe('a batch', () => {
  const good = writeTest('good', ["test('good', () => {})"])

  it('runs the tests of all its files', () => {
    const { status, stdout, isComplete } = runBatch([good, writeTest('other', ["test('other', () => {})"])])
    assert.equal(status, 0, stdout)
    assert.match(stdout, /# Subtest: good\n[\s\S]*# Subtest: other\n[\s\S]*# pass 2\n/)
    assert.equal(isComplete, true)
  })

  it('applies the hooks of a file only to its own tests', () => {
    const hooked = writeTest('hooked', [
      "test.beforeEach((context) => { if (context.name !== 'own') throw new Error('of another file') })",
      "test('own', () => {})",
    ])
    const { status, stdout } = runBatch([hooked, good])
    assert.equal(status, 0, stdout)
  })

  it('names a file that cannot be loaded, and runs the others', () => {
    const bad = writeTest('bad', ["throw new Error('cannot be loaded')"])
    const { status, stdout, isComplete } = runBatch([bad, good])
    assert.equal(status, 1)
    assert.ok(stdout.includes(`not ok 1 - ${bad}`), stdout)
    assert.match(stdout, /# pass 1\n# fail 1\n/)
    assert.equal(isComplete, true)
  })

  it('is not complete if one of its files ends the process', () => {
    for (const end of ['process.exit(0)', "process.kill(process.pid, 'SIGKILL')"]) {
      const crash = writeTest('crash', [`test('crash', () => ${end})`])
      assert.equal(runBatch([good, crash]).isComplete, false, end)
    }
  })
})
