// No request body blocks or crashes a server, and the largest valid body of each route is accepted.

import assert from 'node:assert/strict'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'node:tls'
import { gzipSync } from 'node:zlib'
import { type Answer, basicAuthorization, type SentRequest } from '@svc/shared/testing'
import { assertError, messageOf } from './support/error-answer.ts'
import { inlineTask } from './support/inline-task.ts'
import { startTestCluster } from './support/test-cluster.ts'
import { addUsers, credentialsOf } from './support/test-users.ts'

const cluster = await startTestCluster({ profile: 'secure' })
after(() => cluster.end())

const permission = (name: string, action: 'READ' | 'WRITE') => ({
  resource: { type: 'DATASOURCE' as const, name },
  action,
})
before(() =>
  addUsers(cluster, { nothing: [], writer: [permission('mine', 'READ'), permission('mine', 'WRITE')] }),
)
const nothing = credentialsOf('nothing')
const writer = credentialsOf('writer')

const task = '/svc/indexer/v1/task'
const mebibyte = 1024 * 1024

const posted = (path: string, text: string | Buffer, more: Partial<SentRequest> = {}): SentRequest => ({
  method: 'POST',
  path,
  text,
  ...more,
  headers: { 'content-type': 'application/json', ...more.headers },
})
const listOf = (count: number, item: (index: number) => string) =>
  `[${Array.from({ length: count }, (_, index) => item(index)).join()}]`
const keys = (count: number) => `{${Array.from({ length: count }, (_, index) => `"key ${index}":0`).join()}}`

/**
 * How long another user's requests wait during the attack, in milliseconds; every one of them must be answered with 200. Without
 * the time for which this process cannot receive an answer, because it sends the attack.
 */
async function whileOthersAsk<Result>(instance: string, path: string, work: () => Promise<Result>) {
  const isOver = new AbortController()
  const ownDelay = monitorEventLoopDelay({ resolution: 5 })
  ownDelay.enable()
  let longestMs = 0
  let count = 0
  const others = (async () => {
    while (!isOver.signal.aborted || count === 0) {
      const startedAt = performance.now()
      const { status, text } = await cluster.at(instance).send({ path })
      assert.equal(status, 200, text)
      longestMs = Math.max(longestMs, performance.now() - startedAt)
      count += 1
      await sleep(5)
    }
  })()
  const result = await work().finally(() => isOver.abort())
  await others
  ownDelay.disable()
  return { result, longestMs: longestMs - ownDelay.max / 1e6 }
}

/** The leader's process and start time, which change if another process takes over or the server restarts. */
const leader = async (role: string, prefix: string) => ({
  leader: (await cluster.at(role).send({ path: `/svc/${prefix}/v1/leader` })).text,
  startedAt: cluster.logOf(role).split('"Ready"').length,
})

// Without limits these took seconds to minutes; a loaded machine may be slow.
const maxBlockedMs = 3000

describe('an expensive body', () => {
  const rows: readonly [name: string, body: () => string | Buffer, credentials: string, status: number][] = [
    ['60 MB of keys from a user without permissions', () => keys(3_500_000), nothing, 403],
    ['4.9 MB of keys', () => keys(330_000), writer, 413],
    ['5 MB of empty lists', () => `{"spec":{"x":${listOf(1_700_000, () => '[]')}}}`, writer, 413],
    ['a million nested lists', () => '['.repeat(1_000_000), writer, 400],
    ['a compressed GiB', () => gzipSync(Buffer.alloc(200 * mebibyte, ' ')), writer, 413],
    ['60 MiB of spaces, compressed', () => gzipSync(Buffer.alloc(60 * mebibyte, ' ')), writer, 413],
    ['ten thousand unknown fields', () => `{"type":"index_parallel","spec":${keys(10_000)}}`, writer, 400],
    [
      'two hundred thousand invalid columns',
      () =>
        JSON.stringify(inlineTask('mine')).replace(
          '"dimensions":["d"]',
          `"dimensions":${listOf(200_000, () => '{}')}`,
        ),
      writer,
      400,
    ],
    [
      'ten thousand invalid metrics',
      () =>
        JSON.stringify(inlineTask('mine')).replace(
          '"granularitySpec"',
          `"metricsSpec":${listOf(10_000, () => '{"a":{}}')},"granularitySpec"`,
        ),
      writer,
      400,
    ],
  ]
  for (const [name, body, credentials, status] of rows) {
    test(`is refused without blocking others: ${name}`, async () => {
      const before = await leader('overlord', 'indexer')
      const bytes = Buffer.from(body())
      const headers = bytes[0] === 0x1f ? { 'content-encoding': 'gzip' } : {}
      const { result, longestMs } = await whileOthersAsk('overlord', '/svc/indexer/v1/workers', () =>
        cluster.at('overlord').send(posted(task, bytes, { credentials, headers })),
      )
      assertError(result, status, name)
      assert.ok(result.text.length < 3000, `the message is long: ${result.text.length}`)
      assert.ok(longestMs < maxBlockedMs, `others waited [${longestMs}] ms`)
      assert.deepEqual(await leader('overlord', 'indexer'), before)
    })
  }

  test('is refused twenty times at once, while others get answers and the overlord keeps its leadership', async () => {
    const before = await leader('overlord', 'indexer')
    const data = 'x,y\n'.repeat((30 * mebibyte) / 4)
    // Compressed, because sending it uncompressed would keep this process busy as well.
    const body = gzipSync(JSON.stringify({ ...inlineTask('mine'), padding: data }))
    const more = { credentials: writer, headers: { 'content-encoding': 'gzip' } }
    const { result, longestMs } = await whileOthersAsk('overlord', '/svc/indexer/v1/workers', () =>
      Promise.all(Array.from({ length: 20 }, () => cluster.at('overlord').send(posted(task, body, more)))),
    )
    for (const answer of result) {
      assertError(answer, answer.status)
      assert.ok([400, 429].includes(answer.status), answer.text)
    }
    assert.ok(longestMs < maxBlockedMs, `others waited [${longestMs}] ms`)
    assert.deepEqual(await leader('overlord', 'indexer'), before)
  })
})

describe('slow senders', () => {
  test("time out, and do not block the router's connections for others", async () => {
    const router = new URL(cluster.urls.router!)
    const head = [
      `POST ${task} HTTP/1.1`,
      'Host: x',
      `Authorization: ${basicAuthorization(writer)}`,
      'Content-Type: application/json',
      'Content-Length: 100000',
    ]
    const answers = Array.from({ length: 150 }, async () => {
      // A socket, because it keeps sending after the response has arrived.
      const socket = connect({ host: router.hostname, port: Number(router.port), ca: cluster.trusted })
      socket.on('error', () => undefined)
      socket.write(`${head.join('\r\n')}\r\n\r\n{`)
      const dripping = setInterval(() => socket.write(' '), 500)
      let text = ''
      try {
        for await (const chunk of socket) text += chunk
      } finally {
        clearInterval(dripping)
      }
      return text
    })
    const { result } = await whileOthersAsk('router', '/svc/indexer/v1/workers', () => Promise.all(answers))
    for (const text of result) assert.match(text, /^HTTP\/1\.1 408 .*"errorCode":"requestTimedOut"/s)
  })
})

describe('a body that is not valid UTF-8', () => {
  test('is refused wherever it is sent', async () => {
    const bytes = Buffer.from('["\xff"]', 'latin1')
    for (const path of [task, '/svc/coordinator/v1/rules/mine', '/svc/v2/sql']) {
      const answer = await cluster.router.send(posted(path, bytes))
      assertError(answer, 400)
      assert.equal(messageOf(answer), 'The body is not valid UTF-8')
    }
  })
})

describe('the largest valid body', () => {
  const rules = listOf(
    10_000,
    (index) => `{"type":"loadByPeriod","period":"P${index + 1}D","tieredReplicants":{"a":1}}`,
  )
  const segment = (index: number) =>
    `{"dataSource":"mine","interval":"2026-01-01/2026-01-02","version":"v","partitionNum":${index},"partitions":50000,"size":1}`
  const ids = (count: number) =>
    listOf(count, (index) => `"mine_2026-01-01T00:00:00.000Z_2026-01-02T00:00:00.000Z_v_${index + 1}"`)
  const rows: readonly [name: string, path: string, body: () => string][] = [
    ['rules', '/svc/coordinator/v1/rules/mine', () => rules],
    [
      'a preview',
      '/svc/coordinator/v1/rules/simulate',
      () => `{"rules":${rules},"segments":${listOf(50_000, segment)}}`,
    ],
    [
      'a compaction preview',
      '/svc/coordinator/v1/compaction/simulate',
      () => `{"compactionConfigs":[{"dataSource":"mine"}],"segments":${listOf(50_000, segment)}}`,
    ],
    [
      'a compaction schedule',
      '/svc/indexer/v1/compaction/schedule',
      () => `{"compactionConfigs":[{"dataSource":"mine"}],"segments":${listOf(50_000, segment)}}`,
    ],
    [
      'segments to mark',
      '/svc/coordinator/v1/datasources/mine/markUnused',
      () => `{"segmentIds":${ids(15_000)}}`,
    ],
    [
      'a task with inline data',
      task,
      () => {
        const sent = structuredClone(inlineTask('mine'))
        // Each character of the data takes six bytes of the body.
        sent.spec.ioConfig.inputSource.data = 'placeholder'
        return JSON.stringify(sent).replace('placeholder', '\\u0020'.repeat(10 * mebibyte))
      },
    ],
    [
      'a task with many columns',
      task,
      () =>
        JSON.stringify(inlineTask('mine')).replace(
          '["d"]',
          listOf(10_000, (index) => `{"type":"long","name":"d${index}"}`),
        ),
    ],
    [
      'a task that compacts many segments',
      task,
      () =>
        `{"type":"compact","dataSource":"mine","ioConfig":{"inputSpec":{"type":"uncompacted","interval":"2026-01-01/P1D","segments":${ids(200_000)}}}}`,
    ],
    [
      'a compaction configuration',
      '/svc/coordinator/v1/config/compaction',
      () => `{"dataSource":"mine","taskContext":{"long":"${'x'.repeat(mebibyte - 100)}"}}`,
    ],
    [
      'the coordinator configuration',
      '/svc/coordinator/v1/config',
      () => `{"killDataSourceWhitelist":${listOf(10_000, (index) => `"datasource ${index}"`)}}`,
    ],
  ]
  for (const [name, path, body] of rows) {
    test(`is accepted: ${name}`, async () => {
      const answer: Answer = await cluster.router.send(posted(path, body()))
      assert.equal(answer.status, 200, answer.text.slice(0, 500))
    })
  }
})
