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

  it('tells files of its task without the folder in which that works', async () => {
    const engine = await openEngine({
      directories: [inside],
      files: [],
      spillDirectory: join(inside, 'spill'),
      memoryLimitBytes: 256 * 1024 * 1024,
      threads: 2,
    })
    await assert.rejects(engine.rows(`FROM read_parquet('${inside}/a.csv')`), (error: Error) => {
      assert.match(error.message, /The input cannot be read: .*'a\.csv'/)
      assert.ok(!error.message.includes(folder), error.message)
      return true
    })
    engine.close()
  })

  const refused = {
    'a file outside': `FROM read_csv('${folder}/secret.csv')`,
    'a path that climbs out': `FROM read_csv('${inside}/../secret.csv')`,
    'a link that leads out': `FROM read_csv('${inside}/link.csv')`,
    'the environment': `FROM read_text('/proc/self/environ')`,
    'a listing': `FROM glob('${folder}/*')`,
    'a file written outside': `COPY (SELECT 1) TO '${folder}/out.csv'`,
    'a database outside': `ATTACH '${folder}/x.db'`,
    'a program': `COPY (SELECT 1) TO PROGRAM 'touch ${folder}/program'`,
    'the network': `FROM read_csv('http://127.0.0.1:1/x.csv')`,
    'an extension installed': 'INSTALL httpfs',
    'an extension loaded': 'LOAD httpfs',
    'access opened again': 'SET enable_external_access = true',
    'more folders': `SET allowed_directories = ['/']`,
    'more memory': `SET memory_limit = '100GB'`,
    'the lock opened': 'SET lock_configuration = false',
  }
  for (const [name, sql] of Object.entries(refused)) {
    it(`refuses ${name}`, async () => {
      const engine = await testEngine(inside)
      const before = readdirSync(folder)
      await assert.rejects(engine.rows(sql), {
        name: 'Failure',
        message: /disabled by configuration|disabled through configuration|has been locked/,
      })
      assert.deepEqual(readdirSync(folder), before)
    })
  }

  it('gives up when asked to, in the middle of a statement', async () => {
    const asked = new AbortController()
    const engine = await openEngine({
      directories: [],
      files: [],
      spillDirectory: join(folder, 'spill'),
      memoryLimitBytes: 256 * 1024 * 1024,
      threads: 1,
      signal: asked.signal,
    })
    try {
      // Far more than anyone would wait for; the timer runs while the statement does.
      const endless = engine.rows('SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b')
      setTimeout(() => asked.abort(new Error('enough')), 20)
      await assert.rejects(endless, /^Error: enough$/)
      await assert.rejects(engine.rows('SELECT 1'), /^Error: enough$/)
    } finally {
      engine.close()
    }
  })

  it('says that its memory is not enough', async () => {
    const engine = await openEngine({
      directories: [],
      files: [],
      spillDirectory: join(folder, 'spill'),
      memoryLimitBytes: 16 * 1024 * 1024,
      threads: 1,
    })
    try {
      // One list of everything is nothing that could go to disk.
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
