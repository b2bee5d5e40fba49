import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import {
  canMountSmallDisk,
  doorOf,
  filesIn,
  indexTask,
  rowsOf,
  runOnSmallDisk,
  standInBucket,
  startS3StandIn,
  temporaryFolder,
} from '../testing/index.ts'
import { type PeonOrder, runPeon } from './index.ts'

const folder = temporaryFolder({ after })
const storage = path.join(folder, 'storage')
const logFile = path.join(folder, 'logs/a.log')
const index = (payload: unknown) => ({
  payload,
  access: { allowedRoots: [], allowedHosts: [] },
  httpLimits: {
    idleTimeoutMs: 10_000,
    timeoutMs: 10_000,
    minBytesPerSecond: 0,
    maxBytes: 1_000_000,
    maxDecompressedBytes: 1_000_000,
  },
})
const order = (given: Partial<PeonOrder> = {}): PeonOrder => ({
  taskId: 'a',
  attempt: 1,
  type: 'index_parallel',
  order: index(indexTask('koalas', rowsOf(1))),
  workDirectory: path.join(folder, 'work'),
  storage: { type: 'local', rootDirectory: storage },
  pathPrefix: 'a-1',
  memoryLimitBytes: 256 * 2 ** 20,
  threads: 1,
  diskDelayMs: 0,
  ...given,
})
const run = (
  given: Partial<PeonOrder> = {},
  signal = new AbortController().signal,
  onProgress = (_: unknown) => {},
) => runPeon(order(given), logFile, onProgress, signal)

const childrenOf = (pid: number): string[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')

/** The 19th field, counted from the state, which follows the name in parentheses. */
const nicenessOf = (thread: string): string =>
  readFileSync(`${thread}/stat`, 'utf8').split(') ')[1]!.split(' ')[16]!

/** A variable in the environment that a process was started with. */
const variableOf = (pid: string, name: string): string | undefined =>
  readFileSync(`/proc/${pid}/environ`, 'utf8')
    .split('\0')
    .find((entry) => entry.startsWith(`${name}=`))
    ?.slice(name.length + 1)

describe('a task process', () => {
  it('has a lower priority than the servers, in all of its threads', async () => {
    const seen = new Set<string>()
    await run({}, undefined, () => {
      for (const pid of childrenOf(process.pid))
        for (const thread of readdirSync(`/proc/${pid}/task`))
          seen.add(nicenessOf(`/proc/${pid}/task/${thread}`))
    })
    assert.deepEqual(seen, new Set(['5']))
  })

  it('writes segments to S3 with the credentials of the environment', async (context) => {
    const standIn = await startS3StandIn(context)
    process.env.AWS_ACCESS_KEY_ID = standIn.accessKey
    process.env.AWS_SECRET_ACCESS_KEY = standIn.secretKey
    context.after(() => {
      delete process.env.AWS_ACCESS_KEY_ID
      delete process.env.AWS_SECRET_ACCESS_KEY
    })
    const connection = {
      endpointUrl: standIn.url,
      region: 'us-east-1',
      accessKey: undefined,
      secretKey: undefined,
      isPathStyle: true,
      caPath: undefined,
      retryTimeoutMs: 0,
      idleTimeoutMs: 10_000,
    }
    const end = await run({ storage: { type: 's3', bucket: standInBucket, baseKey: 'base', connection } })
    assert.ok(end.kind === 'done', JSON.stringify(end))
    assert.deepEqual(
      end.segments.map((segment) => `base/${segment.path}`),
      [...standIn.objects.keys()],
    )
  })

  it('writes segments, reports progress, and logs', async () => {
    const phases = new Set<string>()
    const end = await run({}, undefined, (progress) => phases.add((progress as { phase: string }).phase))
    assert.ok(end.kind === 'done')
    assert.deepEqual(
      end.segments.map(({ path: file, totalRows, dimensions }) => [file, totalRows, dimensions]),
      filesIn(storage).map((file) => [file, 1, ['n']]),
    )
    assert.ok(phases.has('writing'))
    assert.match(readFileSync(logFile, 'utf8'), /^\{"timestamp":.*"message":"Task started"/)
  })

  it('does not inherit the environment of its server', async (context) => {
    process.env.SVC_TEST_SECRET = 'hunter2'
    context.after(() => {
      delete process.env.SVC_TEST_SECRET
    })
    const end = await run({ order: index(indexTask('koalas', { type: 'inline', data: '{"t":"x"}' })) })
    assert.equal(end.kind, 'failed')
    assert.doesNotMatch(readFileSync(logFile, 'utf8'), /hunter2/)
  })

  it('finds libraries where its server finds them', async (context) => {
    const { LD_LIBRARY_PATH } = process.env
    process.env.LD_LIBRARY_PATH = [folder, LD_LIBRARY_PATH].filter((each) => each).join(':')
    context.after(() => {
      if (LD_LIBRARY_PATH === undefined) delete process.env.LD_LIBRARY_PATH
      else process.env.LD_LIBRARY_PATH = LD_LIBRARY_PATH
    })
    const seen = new Set<string | undefined>()
    await run({}, undefined, () => {
      for (const pid of childrenOf(process.pid)) seen.add(variableOf(pid, 'LD_LIBRARY_PATH'))
    })
    assert.deepEqual(seen, new Set([process.env.LD_LIBRARY_PATH]))
  })

  it('reports an invalid task, and fails on an unexpected error', async () => {
    const bad = await run({ order: index({ type: 'nothing' }) })
    assert.deepEqual(
      [bad.kind, bad.kind === 'failed' && /^Invalid value \[nothing\] for \[type\]/.test(bad.message)],
      ['failed', true],
    )
    const bug = await run({ memoryLimitBytes: Number.NaN })
    assert.equal(bug.kind, 'failed')
  })

  const disk = path.join(folder, 'disk')
  mkdirSync(disk)
  const skip = canMountSmallDisk(disk) ? false : 'this system cannot mount a disk for a test'
  it('reports a full disk and its location, even if the log is on that disk', { skip }, async () => {
    const onDisk = order({ workDirectory: path.join(disk, 'work') })
    const script = `
      import { readFileSync, writeFileSync } from 'node:fs'
      import { runPeon } from '${doorOf('task-running')}'
      const order = JSON.parse(readFileSync('${folder}/order.json', 'utf8'))
      try { writeFileSync('${disk}/full', Buffer.alloc(2_000_000)) } catch {}
      const end = await runPeon(order, '${disk}/a.log', () => {}, new AbortController().signal)
      console.log(JSON.stringify(end))`
    writeFileSync(path.join(folder, 'order.json'), JSON.stringify(onDisk))
    assert.deepEqual(await runOnSmallDisk(disk, script), {
      kind: 'failed',
      message: `Failed to write to task directory [${path.join(disk, 'work', 'input')}]: no space left on the disk`,
    })
  })

  for (const already of [true, false]) {
    it(`reports its death without throwing if it is killed ${already ? 'before it starts' : 'while it starts'}`, async () => {
      const controller = new AbortController()
      if (already) controller.abort()
      const running = run({}, controller.signal)
      if (!already) setImmediate(() => controller.abort())
      assert.deepEqual(await running, { kind: 'died', how: 'SIGKILL' })
    })
  }

  it('does not affect its parent when killed many times', async () => {
    const ends = await Promise.all(Array.from({ length: 5 }, () => run({}, AbortSignal.abort())))
    assert.ok(ends.every(({ kind }) => kind === 'died'))
  })
})
