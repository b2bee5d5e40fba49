import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { compileGroupPattern, isGroupPattern } from './index.ts'

const wiki = 'cn=wiki,ou=groups,dc=example,dc=org'

const rows: readonly [pattern: string, matching: string[], others: string[]][] = [
  ['*', [wiki, 'ou=x'], []],
  [
    wiki,
    [wiki, 'CN=Wiki, OU=groups ,dc=example,dc=ORG'],
    [`x=y,${wiki}`, 'cn=wiki,ou=groups,dc=example', 'cn=wikis,ou=groups,dc=example,dc=org'],
  ],
  [
    '*,ou=groups,dc=example,dc=org',
    [wiki, 'cn=a,cn=b,OU=Groups,DC=example,DC=org'],
    ['ou=groups,dc=example,dc=org', 'cn=wiki,ou=xgroups,dc=example,dc=org'],
  ],
  ['cn=wiki,*', [wiki, 'cn=wiki,dc=other'], ['cn=wiki', 'cn=wikis,dc=other', 'ou=x,cn=wiki,dc=other']],
  ['cn=a\\,b,dc=x', ['cn=a\\2Cb,dc=x', 'cn=a\\2cb,dc=x'], ['cn=a,b,dc=x', 'cn=a,dc=x']],
  ['cn=a+ou=b,dc=x', ['ou=b+cn=a,dc=x'], ['cn=a,dc=x', 'cn=a,ou=b,dc=x']],
  ['cn=j\\c3\\bcrgen,dc=x', ['cn=jürgen,dc=x', 'cn=JÜRGEN,dc=x'], ['cn=jurgen,dc=x']],
  ['cn=two  blanks,dc=x', ['cn=two blanks,dc=x'], ['cn=twoblanks,dc=x']],
  ['2.5.4.3=a,dc=x', ['2.5.4.3=A,dc=x'], ['cn=a,dc=x']],
]

describe('a group pattern', () => {
  for (const [pattern, matching, others] of rows) {
    it(`[${pattern}] matches whole parts of a name`, () => {
      assert.equal(isGroupPattern(pattern), true)
      const matches = compileGroupPattern(pattern)
      for (const group of matching) assert.equal(matches(group), true, group)
      for (const group of others) assert.equal(matches(group), false, group)
    })
  }

  for (const text of [
    '',
    '**',
    '*ou=x',
    'cn=*,dc=x',
    'cn=o*',
    '*,*',
    '*,',
    ',*',
    'no name',
    'cn',
    '=x',
    'cn=',
    'cn=a,,dc=x',
    'cn=a\\',
    'cn=\\ff,dc=x',
    '*,cn=a,*',
    ' ',
    'cn=a\\,*',
    'a b=c',
    `cn=${'a'.repeat(5000)}`,
  ]) {
    it(`[${text.slice(0, 20)}] is invalid and matches nothing`, () => {
      assert.equal(isGroupPattern(text), false)
      for (const group of [wiki, text, '', 'cn=a']) assert.equal(compileGroupPattern(text)(group), false)
    })
  }

  it('never throws for any pattern and group', () => {
    const text = fc.string({ unit: fc.constantFrom(...'cn=a,+\\* #2C"ü\0;<'), maxLength: 30 })
    fc.assert(
      fc.property(text, text, (pattern, group) => {
        const matches = compileGroupPattern(pattern)
        assert.equal(typeof matches(group), 'boolean')
        if (!isGroupPattern(pattern)) assert.equal(matches(group), false)
      }),
    )
  })

  it('that is a full name matches itself', () => {
    const value = fc
      .string({ unit: fc.constantFrom(...'abü '), minLength: 1, maxLength: 8 })
      .filter((text) => text.trim() !== '')
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 4 }), (values) => {
        const name = values.map((one) => `cn=${one}`).join(',')
        assert.equal(compileGroupPattern(name)(name.toUpperCase()), true)
        assert.equal(compileGroupPattern(`*,${name}`)(`ou=x,${name}`), true)
        assert.equal(compileGroupPattern(`${name},*`)(`${name},ou=x`), true)
      }),
    )
  })
})
