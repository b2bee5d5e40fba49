import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import type { Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import { describe, it } from 'node:test'
import { connect as tlsConnect } from 'node:tls'
import { openPorts, storesAuthority, testSettings, waitUntil, withTls } from '../testing/index.ts'
import { ConnectionLimits, type RefusedConnection } from './connection-limits.ts'

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
  const open = (remoteAddress: string) => {
    const socket = Object.assign(new EventEmitter(), {
      remoteAddress,
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
  return { admitted, refused, open }
}

describe('the limits of open connections', () => {
  it('apply to each address, and to all together', () => {
    const { refused, open } = standIn(3, 2)
    const first = open('10.0.0.1')
    open('10.0.0.1')
    assert.equal(open('10.0.0.1').destroyed, true)
    assert.equal(open('10.0.0.2').destroyed, false)
    assert.equal(open('10.0.0.3').destroyed, true)
    assert.deepEqual(refused, [
      { address: '10.0.0.1', limit: 'address' },
      { address: '10.0.0.3', limit: 'total' },
    ])
    first.destroy()
    assert.equal(open('::ffff:10.0.0.1').destroyed, false)
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
      open(one)
      assert.equal(open(other).destroyed, isSame)
    })

  for (const port of ['plaintext', 'tls'] as const)
    it(`leave other addresses a way in while one has all its connections, on the ${port} port`, async (context) => {
      const properties = { ...withTls('ec.jks'), 'svc.enablePlaintextPort': 'true' }
      const limits = { 'svc.server.http.maxConnectionsPerAddress': '5' }
      const { plaintextPort, tlsPort } = await openPorts(
        context,
        { ...properties, ...limits },
        (_request, response) => response.end('hello'),
      )
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
      const idle = Array.from({ length: 5 }, () => open('127.0.0.1'))
      await Promise.all(idle.map((socket) => once(socket, port === 'tls' ? 'secureConnect' : 'connect')))
      assert.equal(await hello('127.0.0.1'), '')
      assert.match(await hello('127.0.0.2'), /hello$/)
      idle[0]!.destroy()
      await waitUntil(
        'a closed connection no longer counts',
        () => hello('127.0.0.1'),
        (text) => /hello$/.test(text),
      )
    })
})
