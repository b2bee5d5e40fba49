import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseOptions, type WrittenOptions } from './options.ts'

const refused: { name: string; given: WrittenOptions; message: RegExp }[] = [
  {
    name: 'an offset below 1000',
    given: { portOffset: '999' },
    message: /Invalid value \[999\] for \[--port-offset\]: expected 0, or/,
  },
  { name: 'an offset beyond the last port', given: { portOffset: '49157' }, message: /from 1000 to 49156/ },
  { name: 'an offset that is not a number', given: { portOffset: '1e3' }, message: /\[1e3\]/ },
  { name: 'a negative offset', given: { portOffset: '-1000' }, message: /\[-1000\]/ },
  {
    name: 'an unknown profile',
    given: { profile: 'safe' },
    message: /Invalid value \[safe\] for \[--profile\]: expected one of \[secure\], \[plain\]/,
  },
  {
    name: 'historicals without a count',
    given: { historicals: 'hot' },
    message: /Invalid entry \[hot\] in \[--historicals\]/,
  },
  {
    name: 'a tier with zero historicals',
    given: { historicals: 'hot=0' },
    message: /Invalid entry \[hot=0\] in \[--historicals\]/,
  },
  {
    name: 'a tier twice',
    given: { historicals: 'hot=1,hot=2' },
    message: /Duplicate name \[hot\] in \[--historicals\]/,
  },
  {
    name: 'a tier that is not a valid folder name',
    given: { historicals: '../up=1' },
    message: /Invalid tier \[\.\.\/up\] in \[--historicals\]/,
  },
  {
    name: 'instances of an unknown role',
    given: { instances: 'peon=2' },
    message: /Invalid role \[peon\] in \[--instances\]: expected one of/,
  },
  {
    name: 'instances of historicals',
    given: { instances: 'historical=2' },
    message: /Invalid role \[historical\] in \[--instances\]/,
  },
  {
    name: 'a setting without a value',
    given: { set: ['svc.host'] },
    message: /Invalid value \[svc\.host\] for \[--set\]/,
  },
  {
    name: 'a setting without the svc. prefix',
    given: { set: ['druid.host=x'] },
    message: /starts with svc\./,
  },
  {
    name: 'a setting for an unknown role',
    given: { set: ['peon.svc.host=x'] },
    message: /Invalid role \[peon\] in \[--set\]/,
  },
  {
    name: 'a setting of a port',
    given: { set: ['router.svc.tlsPort=1'] },
    message: /\[svc\.tlsPort\] is managed by \.\/svc/,
  },
]

for (const { name, given, message } of refused) {
  test(`refuses ${name}`, () => {
    assert.throws(() => parseOptions(given), { code: 'invalidInput', message })
  })
}

test('has defaults for everything', () => {
  assert.deepEqual(parseOptions({}), {
    portOffset: 0,
    historicals: new Map([['_default_tier', 1]]),
    instances: new Map(),
    profile: 'secure',
    set: [],
    ldap: false,
    hasOwnSecurity: false,
  })
})

test('parses settings for all services, for a role, and for an instance', () => {
  const { set } = parseOptions({
    set: [
      'svc.a=1',
      'historical.svc.a.b=x=y',
      'historical-hot.v1-2.svc.a=',
      'svc.auth.authenticator.svc.type=basic',
    ],
  })
  assert.deepEqual(set, [
    { target: undefined, name: 'svc.a', value: '1' },
    { target: 'historical', name: 'svc.a.b', value: 'x=y' },
    { target: 'historical-hot.v1-2', name: 'svc.a', value: '' },
    { target: undefined, name: 'svc.auth.authenticator.svc.type', value: 'basic' },
  ])
})
