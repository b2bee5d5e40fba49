import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import type { Server, ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { describe, it } from 'node:test'
import { connect as tlsConnect } from 'node:tls'
import { openPorts, storesAuthority, testSettings, waitUntil, withTls } from '../testing/index.ts'
import { ConnectionLimits, noteLogin, type RefusedConnection } from './connection-limits.ts'

const settings = (max: number, maxPerAddress: number) =>
  testSettings('router', {
    'svc.server.http.maxConnections': String(max),
    'svc.server.http.maxConnectionsPerAddress': String(maxPerAddress),
  })

/** A server without ports, whose connections are made up. */
function standIn(max: number, maxPerAddress: number) {
  const server = new EventEmitter()
  const admitted: Socket[] = []
  const refused: RefusedConnection[] = []
  server.on('connection', (socket: Socket) => admitted.push(socket))
  new ConnectionLimits(settings(max, maxPerAddress), (one) => refused.push(one)).apply(server as Server)
  let remotePort = 10_000
  const open = (remoteAddress: string) => {
    remotePort += 1
    const socket = Object.assign(new EventEmitter(), {
      remoteAddress,
      remotePort,
      destroyed: false,
      destroy: () => undefined,
    })
    socket.destroy = () => {
      socket.destroyed = true
      socket.emit('close')
    }
    server.emit('connection', socket)
    return socket
  }
  /** Begins a request on a connection; returns what ends it. */
  const request = (socket: EventEmitter) => {
    const response = new EventEmitter()
    server.emit('request', { socket }, response)
    return () => response.emit('close')
  }
  return { admitted, refused, open, request }
}

describe('the limits of open connections', () => {
  it('apply to each address, and to all together', () => {
    const { refused, open, request } = standIn(3, 2)
    const openBusy = (address: string) => {
      const socket = open(address)
      if (!socket.destroyed) request(socket)
      return socket
    }
    const first = openBusy('10.0.0.1')
    openBusy('10.0.0.1')
    assert.equal(openBusy('10.0.0.1').destroyed, true)
    assert.equal(openBusy('10.0.0.2').destroyed, false)
    assert.equal(openBusy('10.0.0.3').destroyed, true)
    assert.deepEqual(refused, [
      { address: '10.0.0.1', limit: 'address' },
      { address: '10.0.0.3', limit: 'total' },
    ])
    first.destroy()
    assert.equal(openBusy('::ffff:10.0.0.1').destroyed, false)
  })

  it('replace the connection that has been idle the longest, first those without a login', () => {
    const { refused, open, request } = standIn(4, 4)
    const [busy, loggedIn, used, unused] = [1, 2, 3, 4].map((last) => open(`10.0.0.${last}`)) as [
      ReturnType<typeof open>,
      ReturnType<typeof open>,
      ReturnType<typeof open>,
      ReturnType<typeof open>,
    ]
    const end = request(busy)
    const endLoggedIn = request(loggedIn)
    noteLogin(loggedIn as unknown as Socket)
    endLoggedIn()
    request(used)()
    const replaced = () => [busy, loggedIn, used, unused].map(({ destroyed }) => destroyed)
    const openBusy = (address: string) => request(open(address))
    openBusy('10.0.0.5')
    assert.deepEqual(replaced(), [false, false, false, true])
    openBusy('10.0.0.6')
    assert.deepEqual(replaced(), [false, false, true, true])
    openBusy('10.0.0.7')
    assert.deepEqual(replaced(), [false, true, true, true])
    assert.equal(open('10.0.0.8').destroyed, true)
    end()
    assert.equal(open('10.0.0.9').destroyed, false)
    assert.equal(busy.destroyed, true)
    assert.deepEqual(
      refused.map(({ address }) => address),
      ['10.0.0.4', '10.0.0.3', '10.0.0.2', '10.0.0.8', '10.0.0.1'],
    )
  })

  it('of one address replace only a connection from this address', () => {
    const { open } = standIn(10, 1)
    const [other, own] = [open('10.0.0.1'), open('10.0.0.2')]
    assert.equal(open('10.0.0.2').destroyed, false)
    assert.deepEqual([other.destroyed, own.destroyed], [false, true])
  })

  const networks: readonly [one: string, other: string, isSame: boolean][] = [
    ['2001:db8:1:2::1', '2001:db8:1:2:3:4:5:6', true],
    ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
    ['2001:db8::1', '2001:db8::2', true],
    ['::1', '::2', true],
    ['::1', '1::', false],
    ['10.0.0.1', '10.0.0.2', false],
  ]
  for (const [one, other, isSame] of networks)
    it(`${isSame ? 'count together' : 'count separately'} [${one}] and [${other}]`, () => {
      const { open } = standIn(10, 1)
      const first = open(one)
      open(other)
      assert.equal(first.destroyed, isSame)
    })

  for (const port of ['plaintext', 'tls'] as const)
    it(`let a client in while idle connections use them up, on the ${port} port`, async (context) => {
      const properties = { ...withTls('ec.jks'), 'svc.enablePlaintextPort': 'true' }
      const limits = {
        'svc.server.http.maxConnectionsPerAddress': '5',
        'svc.server.http.maxConnections': '8',
      }
      const busy: ServerResponse[] = []
      const { plaintextPort, tlsPort } = await openPorts(
        context,
        { ...properties, ...limits },
        ({ url }, response) => {
          if (url === '/busy') busy.push(response)
          else response.end('hello')
        },
      )
      // Sockets, because most of these connections send no request.
      const open = (localAddress: string) => {
        const target = { host: '127.0.0.1', localAddress }
        const socket =
          port === 'tls'
            ? tlsConnect({ ...target, port: tlsPort!, ca: storesAuthority, servername: 'localhost' })
            : connect({ ...target, port: plaintextPort! })
        context.after(() => socket.destroy())
        return socket.on('error', () => undefined)
      }
      const hello = async (address: string) => {
        const socket = open(address)
        socket.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
        return (await socket.toArray().catch(() => [])).join('')
      }
      const idle = ['127.0.0.1', '127.0.0.1', '127.0.0.2', '127.0.0.2', '127.0.0.2'].map(open)
      for (const socket of idle) socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
      await Promise.all(idle.map((socket) => once(socket, 'data')))
      const waiting = ['127.0.0.1', '127.0.0.1', '127.0.0.1'].map(open)
      for (const socket of waiting) socket.write('GET /busy HTTP/1.1\r\nHost: a\r\n\r\n')
      await waitUntil(
        'three requests are in progress',
        async () => busy.length,
        (count) => count === 3,
      )
      for (const address of ['127.0.0.1', '127.0.0.2', '127.0.0.3'])
        assert.match(await hello(address), /hello$/)
      for (const response of busy) response.end('hello')
      for (const socket of waiting) assert.match(String(await once(socket, 'data')), /hello$/)
    })
})
