import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { setPath, waitUntil } from '@svc/shared/testing'
import { openHome, repositoryRoot } from '../home/index.ts'
import { findRedis, type RedisProgram, redisErrorIn, redisServer } from './index.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'svc-redis-'))
after(() => rmSync(folder, { recursive: true }))

const sharedCache = path.join(repositoryRoot, '.cache/redis')
let redis: RedisProgram

before(async () => {
  redis = await findRedis({ searchPath: process.env.PATH ?? '', cacheFolder: sharedCache })
})

/** A folder for PATH with a program that prints a version. */
function pathWith(program: string, printed: string): string {
  const bin = mkdtempSync(path.join(folder, 'bin-'))
  writeFileSync(path.join(bin, program), `#!/bin/sh\necho '${printed}'\n`)
  chmodSync(path.join(bin, program), 0o755)
  return bin
}

const emptyCache = path.join(folder, 'empty')

const onPath: { name: string; program: string; printed: string; version: string }[] = [
  {
    name: 'Redis',
    program: 'redis-server',
    printed: 'Redis server v=7.0.15 sha=00000000:0 bits=64',
    version: '7.0.15',
  },
  {
    name: 'Valkey',
    program: 'valkey-server',
    printed: 'Valkey server v=8.1.1 sha=00000000:0',
    version: '8.1.1',
  },
  {
    name: 'the oldest Redis',
    program: 'redis-server',
    printed: 'Redis server v=6.2.0 sha=0',
    version: '6.2.0',
  },
]

for (const { name, program, printed, version } of onPath) {
  test(`finds ${name} on PATH`, async () => {
    const bin = pathWith(program, printed)
    const found = await findRedis({ searchPath: `/nowhere:${bin}`, cacheFolder: emptyCache })
    assert.deepEqual(found, { file: path.join(bin, program), libraries: undefined, version })
  })
}

test('uses a previously downloaded server if PATH has only an old one', async () => {
  const bin = pathWith('redis-server', 'Redis server v=6.0.16 sha=0')
  const unpacked = path.join(folder, 'cache/redis-server/usr/bin')
  mkdirSync(unpacked, { recursive: true })
  symlinkSync(redis.file, path.join(unpacked, 'redis-server'))
  if (redis.libraries)
    symlinkSync(path.dirname(redis.libraries.split(':')[0]!), path.join(folder, 'cache/redis-server/usr/lib'))
  const found = await findRedis({ searchPath: bin, cacheFolder: path.join(folder, 'cache') })
  assert.equal(found.file, path.join(unpacked, 'redis-server'))
  assert.equal(found.version, redis.version)
})

test('lists a server on PATH that does not run', async (context) => {
  const searchPath = pathWith('valkey-server', '')
  setPath(context, searchPath)
  await assert.rejects(findRedis({ searchPath, cacheFolder: emptyCache }), {
    message: /^No Redis server 6\.2 or newer found: \[.*valkey-server\] does not run; /,
  })
})

const logs: { name: string; lines: string[]; error: string | undefined }[] = [
  {
    name: 'its last warning',
    lines: [
      '42:C 05 Nov 2026 08:01:55.101 # WARNING Memory overcommit must be enabled!',
      '42:M 05 Nov 2026 08:01:55.123 # Warning: Could not create server TCP listening socket 127.0.0.1:80: bind: Permission denied',
      '42:M 05 Nov 2026 08:01:55.123 # Failed listening on port 80 (tcp), aborting.',
    ],
    error: 'Failed listening on port 80 (tcp), aborting',
  },
  {
    name: 'the last line about an invalid configuration',
    lines: ['*** FATAL CONFIG FILE ERROR (Redis 7.0.15) ***', "Can't chdir to '/redis': Permission denied"],
    error: "Can't chdir to '/redis': Permission denied",
  },
  { name: 'nothing without a log', lines: [], error: undefined },
]

for (const { name, lines, error } of logs)
  test(`the reason why the server did not start is ${name}`, () => assert.equal(redisErrorIn(lines), error))

test('says what to do if there is no server and the download fails', async (context) => {
  const searchPath = pathWith('redis-server', 'Redis server v=5.0.7 sha=0')
  // Without apt-get on PATH there is no package archive.
  setPath(context, searchPath)
  let downloads = 0
  await assert.rejects(findRedis({ searchPath, cacheFolder: emptyCache, onDownload: () => downloads++ }), {
    code: 'unavailable',
    message:
      /^No Redis server 6\.2 or newer found: \[.*redis-server\] is version \[5\.0\.7\]; .*apt-get.*sudo apt-get install redis-server$/,
  })
  assert.equal(downloads, 1)
})

test('a canceled download ends at once, and leaves nothing behind', async (context) => {
  const bin = mkdtempSync(path.join(folder, 'slow-'))
  for (const name of ['apt-get', 'dpkg-deb', 'dpkg-query', 'apt-cache']) {
    const script = name === 'apt-get' ? '[ "$1" = --version ] || { echo > "$0.started"; exec sleep 60; }' : ''
    writeFileSync(path.join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  }
  setPath(context, `${bin}${path.delimiter}${process.env.PATH}`)
  const cacheFolder = path.join(folder, 'canceled')
  const reason = new Error('Interrupted')
  const stop = new AbortController()
  const started = path.join(bin, 'apt-get.started')
  const onDownload = () =>
    void waitUntil('the download has started', () => existsSync(started)).then(() => stop.abort(reason))
  const search = findRedis({ searchPath: bin, cacheFolder, onDownload, signal: stop.signal })
  const startedAt = performance.now()
  await assert.rejects(search, reason)
  assert.ok(performance.now() - startedAt < 30_000)
  assert.deepEqual(readdirSync(cacheFolder), [])
})

test('the server requires its password, which no other user can read', async () => {
  const home = openHome(path.join(folder, 'home'))
  const { file, args, env, cwd } = redisServer(home, redis, 0, 'the-password')
  assert.equal(statSync(args[0]!).mode & 0o777, 0o600)
  assert.ok(!args.join().includes('the-password'))
  const socketPath = path.join(folder, 'redis.sock')
  const pidFile = path.join(folder, 'redis.pid')
  const more = ['--unixsocket', socketPath, '--daemonize', 'yes', '--pidfile', pidFile]
  execFileSync(file, [...args, ...more], { env, cwd, stdio: 'ignore' })
  try {
    assert.match(await request(socketPath, 'PING'), /^-NOAUTH/)
    assert.match(
      await request(socketPath, 'AUTH the-password\r\nCONFIG GET save'),
      /^\+OK\r\n\*2\r\n\$4\r\nsave\r\n\$0\r\n/,
    )
  } finally {
    process.kill(Number(readFileSync(pidFile, 'utf8')))
  }
})

/** One exchange over the socket, which exists once the server has started. */
async function request(socketPath: string, command: string): Promise<string> {
  const isAnswer = (seen: unknown) => typeof seen === 'string'
  return await waitUntil(`an answer to [${command}]`, exchange, isAnswer, { pollMs: 10 })

  async function exchange(): Promise<string> {
    const socket = connect(socketPath)
    await once(socket, 'connect')
    socket.write(`${command}\r\nQUIT\r\n`)
    let answer = ''
    for await (const chunk of socket) answer += chunk
    return answer
  }
}
