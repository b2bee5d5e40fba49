import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Access,
  type CompilePattern,
  compilePermission,
  grants,
  isAllowed,
  type Permission,
} from './index.ts'

const exactName: CompilePattern = (pattern) => {
  const expression = new RegExp(`^(?:${pattern})$`)
  return (name) => expression.test(name)
}

const readWiki: Permission = { resource: { type: 'DATASOURCE', name: 'wiki.*' }, action: 'READ' }
const writeState: Permission = { resource: { type: 'STATE', name: 'STATE' }, action: 'WRITE' }

const cases: readonly { name: string; access: Access; allowed: boolean }[] = [
  {
    name: 'a matching name',
    access: { type: 'DATASOURCE', name: 'wikipedia', action: 'READ' },
    allowed: true,
  },
  {
    name: 'a name that matches only partly',
    access: { type: 'DATASOURCE', name: 'my wiki', action: 'READ' },
    allowed: false,
  },
  {
    name: 'another action',
    access: { type: 'DATASOURCE', name: 'wikipedia', action: 'WRITE' },
    allowed: false,
  },
  { name: 'another type', access: { type: 'CONFIG', name: 'wikipedia', action: 'READ' }, allowed: false },
  {
    name: 'a match of the second permission',
    access: { type: 'STATE', name: 'STATE', action: 'WRITE' },
    allowed: true,
  },
  {
    name: 'reading with only write permission',
    access: { type: 'STATE', name: 'STATE', action: 'READ' },
    allowed: false,
  },
]
for (const { name, access, allowed } of cases) {
  test(`${name} is ${allowed ? 'allowed' : 'refused'}`, () => {
    assert.equal(
      isAllowed(
        [readWiki, writeState].map((one) => compilePermission(one, exactName)),
        access,
      ),
      allowed,
    )
  })
}

test('no access is allowed without permissions', () => {
  assert.equal(isAllowed([], { type: 'STATE', name: 'STATE', action: 'READ' }), false)
})

const writesSecurity: readonly [pattern: string, allowed: boolean][] = [
  ['security', true],
  ['CONFIG|security', true],
  ['security|secrets', true],
  ['(security)', true],
  ['.*security.*', true],
  ['.*', false],
  ['.+', false],
  ['security|.*', false],
  ['[a-z]*|security', false],
  ['sec.*', false],
  ['s[a-z]*', false],
  ['securit.', false],
  ['securi?ty', false],
  ['security?', false],
  ['[^x]ecurity', false],
  ['.{2,30}', false],
  ['.{8}', false],
  ['\\w{2,}', false],
  ['[a-zA-Z]{2,}', false],
  ['[a-z]{8}', false],
  ['.*y', false],
  ['s.*y', false],
  ['[security]*', false],
  ['security|.{8}', false],
  ['[sS]ecurity', true],
  ['security.*', true],
  ['.*security', true],
  ['sec(urity|rets)', true],
  ['[a-z]+', false],
  ['Security', false],
  ['securit', false],
  ['securityx', false],
]
for (const [pattern, allowed] of writesSecurity) {
  const permission: Permission = { resource: { type: 'CONFIG', name: pattern }, action: 'WRITE' }
  test(`CONFIG WRITE on [${pattern}] ${allowed ? 'allows' : 'does not allow'} changing users and roles`, () => {
    const access: Access = { type: 'CONFIG', name: 'security', action: 'WRITE' }
    assert.equal(grants(compilePermission(permission, exactName), access), allowed)
    const asInDruid = compilePermission(permission, exactName, { compatibility: true })
    assert.equal(grants(asInDruid, access), exactName(pattern)('security'))
    const reading: Permission = { ...permission, action: 'READ' }
    assert.equal(
      grants(compilePermission(reading, exactName), { ...access, action: 'READ' }),
      exactName(pattern)('security'),
      'any matching pattern allows reading',
    )
  })
}
