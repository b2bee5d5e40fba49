import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { connect, createServer } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { type ConnectionOptions, connect as tlsConnect } from 'node:tls'
import {
  storesAuthority as authority,
  createHttpClient,
  freePort,
  listenWithStores,
  openPorts,
  testSettings,
  waitUntil,
  withTls,
} from '../testing/index.ts'

const hello: RequestListener = (_request, response) => response.end('hello')

const open = (
  context: TestContext,
  properties: Readonly<Record<string, string>> = {},
  handler: RequestListener = hello,
) => openPorts(context, properties, handler)

/** Sends a request over its own connection, with TLS if it has trusted certificates. */
async function requestText(port: number | undefined, connection: ConnectionOptions = {}): Promise<string> {
  const client = createHttpClient(`${'ca' in connection ? 'https' : 'http'}://127.0.0.1:${port}`, {
    connection,
  })
  try {
    return (await client.send({ path: '/' })).text
  } finally {
    client.close()
  }
}

describe('the ports', () => {
  it('are opened as configured', async (context) => {
    const plain = await open(context)
    assert.equal(plain.tlsPort, undefined)
    assert.equal(await requestText(plain.plaintextPort), 'hello')
    const both = await open(context, { ...withTls('rsa.jks'), 'svc.enablePlaintextPort': 'true' })
    assert.equal(await requestText(both.plaintextPort), 'hello')
    assert.equal(await requestText(both.tlsPort, { ca: authority }), 'hello')
  })

  for (const store of ['rsa.jks', 'ec.jks', 'rsa-pkcs12.jks', 'ec.p12']) {
    it(`serve TLS with ${store} to clients that trust its authority`, async (context) => {
      const { tlsPort } = await open(context, withTls(store))
      assert.equal(await requestText(tlsPort, { ca: authority }), 'hello')
      assert.equal(
        await requestText(tlsPort, { ca: authority, servername: 'localhost', host: 'localhost' }),
        'hello',
      )
      await assert.rejects(requestText(tlsPort, { ca: [] }), { code: 'SELF_SIGNED_CERT_IN_CHAIN' })
      await assert.rejects(requestText(tlsPort, { ca: authority, servername: 'elsewhere' }), {
        code: 'ERR_TLS_CERT_ALTNAME_INVALID',
      })
    })
  }

  const versions: readonly [version: 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3', accepted: boolean][] = [
    ['TLSv1', false],
    ['TLSv1.1', false],
    ['TLSv1.2', true],
    ['TLSv1.3', true],
  ]
  for (const [version, accepted] of versions) {
    it(`${accepted ? 'accept' : 'reject'} ${version}`, async (context) => {
      const { tlsPort } = await open(context, withTls('rsa.jks'))
      const spoken = await new Promise((resolve) => {
        // Old versions need ciphers that clients no longer enable by default.
        const socket = tlsConnect({
          host: '127.0.0.1',
          port: tlsPort as number,
          ca: authority,
          minVersion: version,
          maxVersion: version,
          ciphers: 'ALL:@SECLEVEL=0',
        })
        socket.once('secureConnect', () => {
          resolve(socket.getProtocol())
          socket.destroy()
        })
        socket.once('error', () => resolve('refused'))
      })
      assert.equal(spoken, accepted ? version : 'refused')
    })
  }

  it('do not answer plain HTTP on the TLS port, and keep serving', async (context) => {
    const { tlsPort } = await open(context, withTls('rsa.jks'))
    await assert.rejects(requestText(tlsPort))
    assert.equal(await requestText(tlsPort, { ca: authority }), 'hello')
  })

  it('reject CONNECT with an error, and ignore the Expect header', async (context) => {
    const { plaintextPort } = await open(context)
    const say = async (text: string): Promise<string> => {
      // HTTP clients do not send such requests.
      const socket = connect(Number(plaintextPort), '127.0.0.1', () => socket.write(text))
      let answer = ''
      for await (const chunk of socket.setEncoding('utf8')) answer += chunk
      return answer
    }
    const refused = await say('CONNECT other:80 HTTP/1.1\r\nHost: other\r\n\r\n')
    assert.match(refused, /^HTTP\/1\.1 405 [\s\S]*\r\nAllow:\r\n[\s\S]*"category":"UNSUPPORTED"/)
    const taken = await say('GET / HTTP/1.1\r\nHost: a\r\nExpect: much\r\nConnection: close\r\n\r\n')
    assert.match(taken, /^HTTP\/1\.1 200 [\s\S]*hello/)
  })

  it('receive the body of a request that arrives while a large response is being sent', async (context) => {
    const { tlsPort } = await open(context, withTls('rsa.jks'), (request, response) => {
      let bytes = 0
      request.on('data', (chunk: Buffer) => {
        bytes += chunk.length
      })
      request.on('end', () =>
        response.end(request.method === 'GET' ? 'x'.repeat(1_000_000) : `received ${bytes}`),
      )
    })
    // A socket, because both requests are sent before a response is read.
    const socket = tlsConnect({ host: '127.0.0.1', port: tlsPort!, ca: authority })
    context.after(() => socket.destroy())
    const body = 'y'.repeat(400_000)
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    socket.write(
      `POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    const received = (await socket.toArray()).join('')
    assert.match(received, /received 400000$/)
  })

  it('pass requests without a host to the application', async (context) => {
    const { plaintextPort } = await open(context)
    const socket = connect(Number(plaintextPort), '127.0.0.1', () =>
      socket.write('GET / HTTP/1.1\r\nConnection: close\r\n\r\n'),
    )
    let answer = ''
    for await (const chunk of socket.setEncoding('utf8')) answer += chunk
    assert.match(answer, /hello/)
  })

  const foreignLines: readonly [name: string, chunks: readonly string[]][] = [
    ['HTTP/0.9', ['GET /\r\n']],
    ['HTTP/0.9 after an empty line', ['\r\nGET /\n']],
    ['HTTP/0.9 in two parts', ['GET ', '/\r\n']],
    ['HTTP/0.9 with a hyphen in the method', ['M-SEARCH /\r\n']],
    ['RTSP', ['GET / RTSP/1.0\r\n\r\n']],
    ['RTSP in two parts', ['GET / RT', 'SP/1.0\r\n\r\n']],
    ['an empty version', ['GET / \r\n\r\n']],
  ]
  for (const [name, chunks] of foreignLines)
    it(`refuse ${name} with 400 before the application sees it`, async (context) => {
      let requests = 0
      const { plaintextPort, tlsPort } = await open(
        context,
        { ...withTls('rsa.jks'), 'svc.enablePlaintextPort': 'true' },
        (_request, response) => {
          requests++
          response.end()
        },
      )
      const sockets = [
        connect(plaintextPort!, '127.0.0.1'),
        tlsConnect({ port: tlsPort, host: '127.0.0.1', ca: authority }),
      ]
      for (const socket of sockets) {
        const answered = (async () => {
          let text = ''
          for await (const chunk of socket) text += chunk
          return text
        })()
        for (const chunk of chunks) {
          await new Promise((resolve) => socket.write(chunk, resolve))
          await new Promise(setImmediate)
        }
        assert.match(await answered, /^HTTP\/1\.1 400 [\s\S]*expected \[HTTP\/1\.1\] or \[HTTP\/1\.0\]/)
      }
      assert.equal(requests, 0)
    })

  it('are reported with their property if they are in use, and none stays open', async (context) => {
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    context.after(() => taken.close())
    const { port } = taken.address() as { port: number }
    const tlsPort = await freePort()
    const settings = testSettings('router', {
      ...withTls('ec.jks'),
      'svc.tlsPort': String(tlsPort),
      'svc.enablePlaintextPort': 'true',
      'svc.plaintextPort': String(port),
    })
    await assert.rejects(listenWithStores(settings, hello), {
      problems: [`Cannot open port [${port}], set by [svc.plaintextPort], on [127.0.0.1] (EADDRINUSE)`],
    })
    await assert.rejects(requestText(tlsPort, { ca: authority }), { code: 'ECONNREFUSED' })
  })

  it('are only open on the address of the server by default', async (context) => {
    const only = await open(context, { 'svc.host': '127.0.0.2' })
    assert.equal(await requestText(only.plaintextPort, { host: '127.0.0.2' }), 'hello')
    await assert.rejects(requestText(only.plaintextPort), { code: 'ECONNREFUSED' })
    const all = await open(context, { 'svc.host': '127.0.0.2', 'svc.bindOnHost': 'false' })
    assert.equal(await requestText(all.plaintextPort), 'hello')
  })

  it('cannot be opened on an address of another machine', async () => {
    const settings = testSettings('router', { 'svc.host': '192.0.2.1' })
    await assert.rejects(
      listenWithStores(settings, hello),
      /^ConfigurationError: .*Cannot open port \[.*\], set by .*, on \[192\.0\.2\.1\] \(EADDRNOTAVAIL\)/s,
    )
  })
})

describe('closing', () => {
  it('finishes requests in progress, accepts no new ones, and closes idle connections', async (context) => {
    let finish: (() => void) | undefined
    const listeners = await open(context, {}, (_request, response) => {
      response.write('begun, ')
      finish = () => response.end('finished')
    })
    const idle = connect(listeners.plaintextPort as number, '127.0.0.1')
    await new Promise((resolve) => idle.once('connect', resolve))
    const answer = requestText(listeners.plaintextPort)
    const end = await waitUntil('the request is in progress', () => finish as unknown as () => void)
    const idleEnded = new Promise((resolve) => idle.once('close', resolve))
    const closed = listeners.close(60_000)
    await idleEnded
    await assert.rejects(requestText(listeners.plaintextPort), { code: 'ECONNREFUSED' })
    end()
    assert.equal(await answer, 'begun, finished')
    await closed
  })

  it('aborts requests that take longer than the grace period', async (context) => {
    let isInProgress = false
    const listeners = await open(context, {}, () => {
      isInProgress = true
    })
    const answer = assert.rejects(requestText(listeners.plaintextPort), { code: 'ECONNRESET' })
    await waitUntil('the request is in progress', () => isInProgress)
    const startedAt = performance.now()
    await listeners.close(200)
    assert.ok(performance.now() - startedAt >= 195)
    await answer
  })
})
