import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createAddressReader, createAddressSigner } from './index.ts'

const target = 'https://127.0.0.1:9081'
const address = '198.51.100.7'
const request = { method: 'POST', path: '/svc/coordinator/v1/rules/a?x', authorization: 'Basic YTpi' }

function setUp() {
  let header: string | undefined = 'Basic secret'
  let nowMs = 1_000_000
  let refusals = 0
  const escalator = { header: () => header, refused: () => refusals++ }
  const now = () => nowMs
  const reader = () => createAddressReader(escalator, () => target, now)
  return {
    sign: createAddressSigner(escalator, now),
    /** A signer of a server with another secret. */
    signWith: (secret: string | undefined) => createAddressSigner({ header: () => secret }, now),
    read: reader(),
    restart: reader,
    refusals: () => refusals,
    rotate: (next: string | undefined) => {
      header = next
    },
    pass: (ms: number) => {
      nowMs += ms
    },
  }
}

describe('the address of a caller', () => {
  it('is accepted by the server that it was signed for', () => {
    const { sign, read } = setUp()
    for (const one of [address, '2001:db8::1', '127.0.0.1'])
      assert.deepEqual(read(sign(target, request, one)!, request), { kind: 'valid', address: one })
  })

  const others: readonly [name: string, signedFor: string, signed: object][] = [
    ['another server', 'https://127.0.0.1:9083', {}],
    ['another path', target, { path: '/svc/coordinator/v1/rules/b?x' }],
    ['another method', target, { method: 'DELETE' }],
    ['another login', target, { authorization: 'Basic YTpj' }],
    ['no login', target, { authorization: undefined }],
  ]
  for (const [name, signedFor, signed] of others) {
    it(`signed for ${name} is invalid`, () => {
      const { sign, read } = setUp()
      const header = sign(signedFor, { ...request, ...signed }, address)!
      assert.equal(read(header, request).kind, 'invalid')
    })
  }

  it('is valid once', () => {
    const { sign, read } = setUp()
    const header = sign(target, request, address)!
    assert.equal(read(header, request).kind, 'valid')
    assert.equal(read(header, request).kind, 'invalid')
  })

  it('is valid once, regardless of the order of requests', () => {
    const { sign, read } = setUp()
    const headers = Array.from({ length: 1000 }, () => sign(target, request, address)!).reverse()
    for (const header of headers) assert.equal(read(header, request).kind, 'valid')
    for (const header of headers) assert.equal(read(header, request).kind, 'invalid')
  })

  it('is not valid again after many others, nor if it arrives far behind them', () => {
    const { sign, read } = setUp()
    const [used, unused] = [sign(target, request, address)!, sign(target, request, address)!]
    assert.equal(read(used, request).kind, 'valid')
    for (let other = 0; other < 40_000; other++) {
      const header = sign(target, request, address)!
      if (other % 1000 === 0) assert.equal(read(header, request).kind, 'valid')
    }
    assert.equal(read(used, request).kind, 'invalid')
    assert.equal(read(unused, request).kind, 'invalid')
  })

  it('expires, and is invalid if signed in the future', () => {
    const late = setUp()
    const header = late.sign(target, request, address)!
    late.pass(60_001)
    assert.equal(late.read(header, request).kind, 'invalid')
    const early = setUp()
    early.pass(60_001)
    const future = early.sign(target, request, address)!
    early.pass(-60_001)
    assert.equal(early.read(future, request).kind, 'invalid')
  })

  it('is not valid again after a restart of the server', () => {
    const { sign, read, restart, pass } = setUp()
    const header = sign(target, request, address)!
    assert.equal(read(header, request).kind, 'valid')
    pass(1)
    assert.equal(restart()(header, request).kind, 'invalid')
  })

  it('signed with another secret is invalid, and makes the escalator reload its password', () => {
    const { signWith, read, refusals, rotate } = setUp()
    const changed = signWith('Basic changed')
    assert.equal(read(changed(target, request, address)!, request).kind, 'invalid')
    assert.equal(refusals(), 1)
    rotate('Basic changed')
    assert.equal(read(changed(target, request, address)!, request).kind, 'valid')
    assert.equal(read(signWith('Basic secret')(target, request, address)!, request).kind, 'invalid')
  })

  it('is neither signed nor accepted without an escalator', () => {
    const { sign, read, rotate } = setUp()
    const header = sign(target, request, address)!
    rotate(undefined)
    assert.equal(sign(target, request, address), undefined)
    assert.equal(read(header, request).kind, 'invalid')
  })

  it('that is malformed is invalid', () => {
    const { sign, read } = setUp()
    const header = sign(target, request, address)!
    const parts = header.split(' ')
    const malformed = [
      '',
      address,
      `${header} x`,
      `${header}, ${header}`,
      header.replace(address, '198.51.100.8'),
      header.replace(address, ''),
      header.slice(0, -1),
      [...parts.slice(0, 1), '-1', ...parts.slice(2)].join(' '),
      [...parts.slice(0, 1), '1e9', ...parts.slice(2)].join(' '),
      [...parts.slice(0, 2), 'NaN', ...parts.slice(3)].join(' '),
    ]
    for (const text of malformed) assert.equal(read(text, request).kind, 'invalid', text)
  })
})
