import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { connect, type Socket } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { connect as tlsConnect } from 'node:tls'
import { fc, openPorts, storesAuthority, waitUntil, withTls } from '../testing/index.ts'

const crlf = '\r\n'
const head = (method: string, path: string, ...headers: string[]): string =>
  [`${method} ${path} HTTP/1.1`, 'Host: a', ...headers, '', ''].join(crlf)
const chunked = 'Transfer-Encoding: chunked'

/**
 * Opens a server, and returns functions that connect to its ports. These are sockets, because the tests send invalid HTTP, and
 * send more while they read nothing.
 */
async function serve(context: TestContext, handler: RequestListener) {
  const properties = { ...withTls('ec.jks'), 'svc.enablePlaintextPort': 'true' }
  const { plaintextPort, tlsPort } = await openPorts(context, properties, handler)
  const kept = <Connection extends Socket>(socket: Connection): Connection => {
    context.after(() => socket.destroy())
    return socket.on('error', () => undefined)
  }
  return {
    plaintext: () => kept(connect(plaintextPort!, '127.0.0.1')),
    tls: () => kept(tlsConnect({ host: '127.0.0.1', port: tlsPort!, ca: storesAuthority })),
    tlsOver: (socket: Socket) => kept(tlsConnect({ socket, ca: storesAuthority })),
    toTlsPort: () => kept(connect(tlsPort!, '127.0.0.1')),
  }
}

/** Sends `text` again and again, as fast as the server reads it, until the connection ends. Returns the response. */
async function flood(socket: Socket, first: string, text: string): Promise<string> {
  let response = ''
  socket.on('data', (bytes) => {
    response += bytes
  })
  socket.write(first)
  const send = () => {
    while (!socket.writableEnded && !socket.destroyed && socket.write(text));
  }
  socket.on('drain', send)
  const closed = once(socket, 'close')
  send()
  await closed
  return response
}

const tooMany =
  /^HTTP\/1\.1 400 [\s\S]*The request arrives in too many short pieces: expected at least \[32\] bytes/

describe('a body in short pieces', () => {
  for (const port of ['plaintext', 'tls'] as const)
    it(`is refused after 1000 chunks of one byte, on the ${port} port`, async (context) => {
      let chunks = 0
      const connections = await serve(context, (request) => {
        request.on('data', () => {
          chunks += 1
        })
      })
      const flooding = flood(
        connections[port](),
        head('POST', '/', chunked),
        `1${crlf}x${crlf}`.repeat(20_000),
      )
      assert.match(await flooding, tooMany)
      assert.equal(chunks, 1000)
    })

  it('is refused if each chunk is long only because of its extension', async (context) => {
    const { plaintext } = await serve(context, (request) => request.resume())
    const chunk = `1;a=${'b'.repeat(10)}${crlf}x${crlf}`
    assert.match(await flood(plaintext(), head('POST', '/', chunked), chunk.repeat(1000)), tooMany)
  })

  it('is refused if each TLS record has one byte', async (context) => {
    const { tls } = await serve(context, (request) => request.resume())
    const socket = tls()
    await once(socket, 'secureConnect')
    socket.write(head('POST', '/', 'Content-Length: 1000000'))
    const received = socket.toArray()
    // Only a write that waits for the previous one becomes a record of its own.
    for (let sent = 0; sent < 1100; sent++) await new Promise((resolve) => socket.write('x', resolve))
    assert.match((await received).join(''), tooMany)
  })

  it('is received if it has at most 1000 of them, or if they are long enough', async (context) => {
    const { plaintext } = await serve(context, (request, response) => {
      let length = 0
      request.on('data', (bytes: Buffer) => {
        length += bytes.length
      })
      request.on('end', () => response.end(`received ${length}`))
    })
    const last = `0${crlf}${crlf}`
    const bodies = [
      [`1${crlf}x${crlf}`.repeat(1000), 1000],
      [`40${crlf}${'x'.repeat(64)}${crlf}`.repeat(20_000), 64 * 20_000],
    ] as const
    for (const [chunks, length] of bodies) {
      const socket = plaintext()
      socket.write(head('POST', '/', chunked, 'Connection: close') + chunks + last)
      assert.match((await socket.toArray()).join(''), new RegExp(`received ${length}$`))
    }
  })
})

it('empty lines before a request are refused after a while', async (context) => {
  let requests = 0
  const { plaintext } = await serve(context, () => {
    requests += 1
  })
  assert.match(await flood(plaintext(), crlf, crlf.repeat(10_000)), tooMany)
  assert.equal(requests, 0)
})

describe('requests that do not wait for responses', () => {
  const count = 3000

  it('are answered one after the other, in their order, and other connections get their turn', async (context) => {
    let running = 0
    let max = 0
    let inOneTurn = 0
    let maxInOneTurn = 0
    const connections = await serve(context, async (request, response) => {
      inOneTurn += 1
      running += 1
      max = Math.max(max, running)
      maxInOneTurn = Math.max(maxInOneTurn, inOneTurn)
      if (inOneTurn === 1) await setImmediate()
      inOneTurn = 0
      running -= 1
      response.end(`${request.url},`)
    })
    for (const port of ['plaintext', 'tls'] as const) {
      const socket = connections[port]()
      const paths = Array.from({ length: count }, (_, index) => `/${index}`)
      const closing = head('GET', '/last', 'Connection: close')
      socket.write(paths.map((path) => head('GET', path)).join('') + closing)
      const response = (await socket.toArray()).join('')
      assert.deepEqual(response.match(/\/\d+(?=,)/g), paths)
      assert.match(response, /\/last,$/)
    }
    assert.equal(max, 1)
    assert.equal(maxInOneTurn, 1)
  })

  it('are not read without limit while the first one waits for its response', async (context) => {
    const { plaintext } = await serve(context, () => undefined)
    const socket = plaintext()
    const requests = head('GET', '/').repeat(10_000)
    let sentBytes = 0
    // The kernel takes some megabytes at once.
    while (sentBytes < 100 * requests.length && (await isSent(socket, requests))) sentBytes += requests.length
    assert.ok(sentBytes < 100 * requests.length, `${sentBytes} bytes`)
  })

  const isSent = (socket: Socket, text: string): Promise<boolean> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, 500, false)
      socket.write(text, () => {
        clearTimeout(timer)
        resolve(true)
      })
    })

  it('do not hide that the client disconnects', async (context) => {
    let hasLeft = false
    const { plaintext } = await serve(context, (_request, response) => {
      response.on('close', () => {
        hasLeft = true
      })
      sent.destroy()
    })
    const sent = plaintext()
    sent.write(head('GET', '/1') + head('GET', '/2'))
    await waitUntil(
      'the server notices',
      () => hasLeft,
      (left) => left,
    )
  })

  it('reach the application unchanged, however they are cut into pieces', async (context) => {
    const seen: string[] = []
    const { plaintext } = await serve(context, async (request, response) => {
      let body = ''
      for await (const bytes of request) body += bytes
      seen.push(`${request.method} ${request.url} ${body}`)
      response.end()
    })
    const text = fc.string({
      unit: fc.constantFrom('a', '0', '\r', '\n', '\r\n\r\n', 'GET / HTTP/1.1\r\n'),
      maxLength: 9,
    })
    const message = fc.oneof(
      fc.constant({ sent: (path: string) => head('GET', path), method: 'GET', body: '' }),
      text.map((body) => ({
        sent: (path: string) => head('POST', path, `Content-Length: ${body.length}`) + body,
        method: 'POST',
        body,
      })),
      fc.tuple(fc.array(text), fc.boolean()).map(([bodies, hasTrailer]) => ({
        sent: (path: string) =>
          [
            head('PUT', path, chunked),
            ...bodies
              .filter((body) => body !== '')
              .map((body) => `${body.length.toString(16)}${crlf}${body}${crlf}`),
            `0${crlf}${hasTrailer ? `A: b${crlf}` : ''}${crlf}`,
          ].join(''),
        method: 'PUT',
        body: bodies.join(''),
      })),
      // Some clients send an empty line after a body.
      fc.constant({ sent: (path: string) => crlf + head('GET', path), method: 'GET', body: '' }),
    )
    await fc.assert(
      fc.asyncProperty(
        fc.array(message, { minLength: 1, maxLength: 6 }),
        fc.array(fc.nat({ max: 60 }), { maxLength: 30 }),
        async (messages, lengths) => {
          seen.length = 0
          const socket = plaintext().setNoDelay()
          let rest = messages.map(({ sent }, index) => sent(`/${index}`)).join('')
          for (const length of lengths) {
            if (length > 0 && rest !== '')
              await new Promise((resolve) => socket.write(rest.slice(0, length), resolve))
            await setImmediate()
            rest = rest.slice(length)
          }
          socket.write(rest + head('GET', '/end', 'Connection: close'))
          await socket.toArray()
          const expected = messages.map(({ method, body }, index) => `${method} /${index} ${body}`)
          assert.deepEqual(seen, [...expected, 'GET /end '])
        },
      ),
      { numRuns: 100 },
    )
  })

  const foreign = [
    'GET / RTSP/1.0\r\n\r\n',
    'GET / RTSP/1.1\r\n\r\n',
    'GET /\r\n',
    'OPTIONS / ICE/1.0\r\n\r\n',
  ]
  for (const line of foreign)
    it(`are refused from the first one in another protocol on: ${JSON.stringify(line)}`, async (context) => {
      const seen: string[] = []
      const { plaintext } = await serve(context, (request, response) => {
        seen.push(request.url ?? '')
        request.resume().on('end', () => response.end())
      })
      const body = `5${crlf}a${crlf}${crlf}${crlf}0${crlf}${crlf}`
      const before = [
        head('GET', '/one'),
        `${head('POST', '/two', 'Content-Length: 4')}${crlf}${crlf}`,
        `${head('POST', '/three', chunked)}${body}`,
      ].join('')
      // The last request is cut in two, at every place.
      for (const cut of Array.from({ length: line.length }, (_, index) => index)) {
        seen.length = 0
        const socket = plaintext().setNoDelay()
        socket.write(before + line.slice(0, cut))
        await setImmediate()
        socket.write(line.slice(cut))
        const response = (await socket.toArray()).join('')
        assert.match(response, /HTTP\/1\.1 400 [\s\S]*expected \[HTTP\/1\.1\] or \[HTTP\/1\.0\]/)
        assert.deepEqual(seen, ['/one', '/two', '/three'])
      }
    })
})

describe('a response before the end of a long body', () => {
  for (const port of ['plaintext', 'tls'] as const)
    for (const length of ['Content-Length: 100000000', chunked])
      it(`closes the connection after the client got it: ${length}, on the ${port} port`, async (context) => {
        const connections = await serve(context, (_request, response) => {
          response.statusCode = 401
          response.end('refused')
        })
        const socket = connections[port]()
        const started = performance.now()
        const text = length === chunked ? `4000${crlf}${'x'.repeat(0x4000)}${crlf}` : 'x'.repeat(65_536)
        const response = await flood(socket, head('POST', '/', length), text)
        assert.match(response, /^HTTP\/1\.1 401 [\s\S]*\r\nConnection: close\r\n[\s\S]*refused/)
        assert.ok(performance.now() - started < 20_000)
      })

  it('keeps the connection if the rest of the body is short', async (context) => {
    const { plaintext } = await serve(context, (_request, response) => response.end('early,'))
    const socket = plaintext()
    socket.write(head('POST', '/', 'Content-Length: 65536'))
    await once(socket, 'data')
    socket.write('x'.repeat(65_536) + head('GET', '/', 'Connection: close'))
    assert.match((await socket.toArray()).join(''), /^HTTP\/1\.1 200 [\s\S]*early,$/)
  })

  it('is not followed by a second one if the body is invalid', async (context) => {
    const { plaintext } = await serve(context, (_request, response) => response.end('early,'))
    const socket = plaintext()
    socket.write(head('POST', '/', chunked))
    const [first] = await once(socket, 'data')
    socket.write('no chunk')
    assert.equal([first, ...(await socket.toArray())].join('').match(/HTTP\/1\.1/g)?.length, 1)
  })
})

it('a connection that is reset after CONNECT does no harm', async (context) => {
  const { plaintext, tls, tlsOver, toTlsPort } = await serve(context, (_request, response) =>
    response.end('hello'),
  )
  for (let round = 0; round < 20; round++) {
    const connections = [plaintext(), toTlsPort()] as const
    for (const [socket, sent] of [
      [connections[0], connections[0]],
      [connections[1], tlsOver(connections[1])],
    ] as const) {
      sent.write(`CONNECT b:80 HTTP/1.1${crlf}Host: b${crlf}${crlf}${'x'.repeat(round * 1000)}`)
      await once(sent, 'data')
      sent.write('x'.repeat(100_000))
      socket.resetAndDestroy()
    }
  }
  for (const socket of [plaintext(), tls()]) {
    socket.write(head('GET', '/', 'Connection: close'))
    assert.match((await socket.toArray()).join(''), /hello$/)
  }
})
