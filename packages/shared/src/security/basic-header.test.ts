import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { basicHeader, readBasicHeader } from './basic-header.ts'

const encode = (text: string, encoding: BufferEncoding = 'base64') => Buffer.from(text).toString(encoding)

describe('a header with a login', () => {
  const rows: readonly [header: string, user: string, password: string][] = [
    [`Basic ${encode('ann:secret')}`, 'ann', 'secret'],
    [`Basic ${encode('ann:secret')}  `, 'ann', 'secret'],
    [`Basic ${encode('ann:a:b:')}`, 'ann', 'a:b:'],
    [`Basic ${encode('ann: ')}`, 'ann', ' '],
    [`Basic ${encode(' :x')}`, ' ', 'x'],
    [`Basic ${encode('jürgen:ßø')}`, 'jürgen', 'ßø'],
    [`Basic ${encode('ann:>>>???', 'base64url')}`, 'ann', '>>>???'],
    [`Basic ${encode('ann:x').replace(/=+$/, '')}`, 'ann', 'x'],
    [basicHeader('€'.repeat(255), '€'.repeat(1024)), '€'.repeat(255), '€'.repeat(1024)],
    [basicHeader('ann', 'x'.repeat(9000)), 'ann', 'x'.repeat(9000)],
  ]
  for (const [header, user, password] of rows) {
    it(`[${header.slice(0, 60)}] contains the user [${user.slice(0, 60)}] and the password [${password.slice(0, 60)}]`, () => {
      assert.deepEqual(readBasicHeader(header), { user, password })
    })
  }

  it('is read as written, for any user and password', () => {
    const user = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 50 })
      .filter((text) => !text.includes(':'))
    const password = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 50 })
    fc.assert(
      fc.property(user, password, (name, secret) => {
        assert.deepEqual(readBasicHeader(basicHeader(name, secret)), { user: name, password: secret })
      }),
    )
  })
})

describe('bytes that are not valid UTF-8', () => {
  for (const [login, user, password] of [
    [[0x61, 0x3a, 0xff], 'a', '\udcff'],
    [[0xe9, 0x3a, 0x78], '\udce9', 'x'],
    [[0xc3, 0xbc, 0x3a, 0x70, 0xc3], 'ü', 'p\udcc3'],
    [[0xed, 0xa0, 0x80, 0x3a, 0xef, 0xbf, 0xbd], '\udced\udca0\udc80', '\ufffd'],
    [[0x61, 0x3a, 0xc0, 0x80], 'a', '\udcc0\udc80'],
  ] as const) {
    it(`[${login}] become unpaired surrogates`, () => {
      const header = `Basic ${Buffer.from(login).toString('base64')}`
      assert.deepEqual(readBasicHeader(header), { user, password })
    })
  }
})

describe('a header without a login', () => {
  const rows: readonly (string | undefined)[] = [
    undefined,
    '',
    'Basic',
    'Basic ',
    `Basic${encode('ann:x')}`,
    `Bearer ${encode('ann:x')}`,
    `Basic ${encode('ann:x')} ${encode('bob:x')}`,
    `Basic ${encode('ann:x')},Basic ${encode('bob:x')}`,
    `Digest username="ann"`,
    'Basic !!!',
    `basic ${encode('ann:secret')}`,
    `BASIC ${encode('ann:secret')}`,
    `Basic  ${encode('ann:secret')}`,
    `Basic ${encode('no colon')}`,
    `Basic ${encode(':no user')}`,
    `Basic ${encode('ann:')}`,
    `Basic ${encode(':')}`,
    'ann:secret',
    `Basic ${encode('ann:xy')}=`,
    `Basic ${encode('ann:x')}AAAA`,
    `Basic ${encode('ann:x')}=AAAA`,
    `Basic ${encode('ann:x')}==`,
    `Basic ${encode('ann:xyz')}A`,
    `Basic =${encode('ann:xyz')}`,
    `Negotiate Basic ${encode('ann:x')}`,
  ]
  for (const header of rows) {
    it(`[${header?.slice(0, 60)}]`, () => assert.equal(readBasicHeader(header), undefined))
  }
})
