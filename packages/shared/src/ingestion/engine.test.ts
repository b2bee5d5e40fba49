import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { openEngine } from './engine.ts'
import { temporaryFolder, testEngine } from './test-engine.ts'

const folder = temporaryFolder()
const inside = join(folder, 'inside')
mkdirSync(inside)
writeFileSync(join(inside, 'a.csv'), 'x\n1\n')
writeFileSync(join(folder, 'secret.csv'), 'x\n1\n')
symlinkSync(join(folder, 'secret.csv'), join(inside, 'link.csv'))

describe('an engine', () => {
  it('reads and writes the folders it was given', async () => {
    const engine = await testEngine(inside)
    assert.deepEqual(await engine.rows(`FROM read_csv('${inside}/a.csv')`), [{ x: '1' }])
    await engine.run(`COPY (SELECT 1) TO '${inside}/b.parquet'`)
    assert.ok(existsSync(join(inside, 'b.parquet')))
  })

  it('reports a file of its task without the folder of the task', async () => {
    const engine = await openEngine({
      directories: [inside],
      files: [],
      spillDirectory: join(inside, 'spill'),
      memoryLimitBytes: 256 * 1024 * 1024,
      threads: 2,
    })
    await assert.rejects(engine.rows(`FROM read_parquet('${inside}/a.csv')`), (error: Error) => {
      assert.match(error.message, /Failed to read the input: .*'a\.csv'/)
      assert.ok(!error.message.includes(folder), error.message)
      return true
    })
    engine.close()
  })

  const refused = {
    'reading a file outside its folders': `FROM read_csv('${folder}/secret.csv')`,
    'a path with .. to a file outside': `FROM read_csv('${inside}/../secret.csv')`,
    'a link to a file outside': `FROM read_csv('${inside}/link.csv')`,
    'reading the environment': `FROM read_text('/proc/self/environ')`,
    'listing files': `FROM glob('${folder}/*')`,
    'writing a file outside': `COPY (SELECT 1) TO '${folder}/out.csv'`,
    'attaching a database outside': `ATTACH '${folder}/x.db'`,
    'running a program': `COPY (SELECT 1) TO PROGRAM 'touch ${folder}/program'`,
    'reading from the network': `FROM read_csv('http://127.0.0.1:1/x.csv')`,
    'installing an extension': 'INSTALL httpfs',
    'loading an extension': 'LOAD httpfs',
    'enabling external access': 'SET enable_external_access = true',
    'allowing more folders': `SET allowed_directories = ['/']`,
    'a higher memory limit': `SET memory_limit = '100GB'`,
    'unlocking the configuration': 'SET lock_configuration = false',
  }
  for (const [name, sql] of Object.entries(refused)) {
    it(`rejects ${name}`, async () => {
      const engine = await testEngine(inside)
      const before = readdirSync(folder)
      await assert.rejects(engine.rows(sql), {
        name: 'Failure',
        message: /disabled by configuration|disabled through configuration|has been locked/,
      })
      assert.deepEqual(readdirSync(folder), before)
    })
  }

  it('stops in the middle of a statement when aborted', async () => {
    const requested = new AbortController()
    const engine = await openEngine({
      directories: [],
      files: [],
      spillDirectory: join(folder, 'spill'),
      memoryLimitBytes: 256 * 1024 * 1024,
      threads: 1,
      signal: requested.signal,
    })
    try {
      // This statement would run for hours.
      const endless = engine.rows('SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b')
      setTimeout(() => requested.abort(new Error('enough')), 20)
      await assert.rejects(endless, /^Error: enough$/)
      await assert.rejects(engine.rows('SELECT 1'), /^Error: enough$/)
    } finally {
      engine.close()
    }
  })

  it('reports that a statement exceeds the memory limit', async () => {
    const engine = await openEngine({
      directories: [],
      files: [],
      spillDirectory: join(folder, 'spill'),
      memoryLimitBytes: 16 * 1024 * 1024,
      threads: 1,
    })
    try {
      // DuckDB cannot spill a single list to disk.
      const sql = "SELECT len(list(range || ' is part of a rather long text')) FROM range(3000000)"
      await assert.rejects(engine.rows(sql), {
        name: 'Failure',
        code: 'tooLarge',
        message: /\[16777216\] bytes/,
      })
    } finally {
      engine.close()
    }
  })
})
