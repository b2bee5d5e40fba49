import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  certificatesText,
  checkCanRun,
  type Found,
  type PreparationOptions,
  plannedHosts,
  readOptions,
} from './installation.ts'

const environment = {
  SVC_REPLICAS: '2',
  SVC_SERVICES: 'router=1 historical-hot=2',
  SVC_ROUTER_HOSTS: '',
  SVC_POSTGRES_VERSION: '17.2-alpine',
  SVC_MIN_MEMORY: '2GiB',
}

const options: PreparationOptions = {
  project: 'svc',
  replicas: new Map([
    ['router', 1],
    ['historical-hot', 2],
  ]),
  routerHosts: [],
  postgres: '17',
  minMemoryBytes: 2 * 2 ** 30,
}

test('reads options from the environment', () => {
  assert.deepEqual(readOptions('svc', environment), options)
  const { routerHosts } = readOptions('svc', { ...environment, SVC_ROUTER_HOSTS: 'svc.example,10.0.0.1' })
  assert.deepEqual(routerHosts, ['svc.example', '10.0.0.1'])
})

const refused: { name: keyof typeof environment; value: string; expect: string }[] = [
  { name: 'SVC_REPLICAS', value: 'abc', expect: 'expected an integer from 1 to 999' },
  { name: 'SVC_REPLICAS', value: '0', expect: 'expected an integer from 1 to 999' },
  { name: 'SVC_SERVICES', value: 'router', expect: 'expected service=replicas' },
  { name: 'SVC_SERVICES', value: 'router=0', expect: 'expected service=replicas' },
  { name: 'SVC_SERVICES', value: 'historical=', expect: 'expected service=replicas' },
  { name: 'SVC_ROUTER_HOSTS', value: 'a,,b', expect: 'expected comma-separated host names' },
  { name: 'SVC_POSTGRES_VERSION', value: 'latest', expect: 'expected a Postgres version' },
  { name: 'SVC_MIN_MEMORY', value: 'much', expect: 'expected a size such as' },
]
for (const { name, value, expect } of refused) {
  test(`rejects ${name}=[${value}]`, () => {
    assert.throws(() => readOptions('svc', { ...environment, [name]: value }), {
      name: 'Failure',
      code: 'invalidInput',
      message: new RegExp(
        `^Invalid value \\[${value.replace(/[.*+?^$()|[\]\\]/g, '\\$&')}\\] for \\[${name}\\]: ${expect}`,
      ),
    })
  })
}

test('each replica has a certificate for its own name; that of the router is also valid for outside names', () => {
  assert.deepEqual(
    [...plannedHosts({ ...options, routerHosts: ['svc.example', 'localhost'] })],
    [
      ['svc-router-1', ['svc-router-1', 'localhost', '127.0.0.1', '::1', 'router', 'svc.example']],
      ['svc-historical-hot-1', ['svc-historical-hot-1']],
      ['svc-historical-hot-2', ['svc-historical-hot-2']],
    ],
  )
})

const first: Found = {
  memoryBytes: 4 * 2 ** 30,
  installation: undefined,
  hasData: false,
  migrations: ['0001_one', '0002_two'],
}
const installation = { format: 1, postgres: '17', schema: '0001_one' }
const later: Found = { ...first, installation, hasData: true }

const runs: { name: string; found: Found }[] = [
  { name: 'at the first start', found: first },
  { name: 'with the volumes of this version', found: later },
  {
    name: 'with volumes of an older schema',
    found: { ...later, migrations: ['0001_one', '0002_two', '0003_three'] },
  },
  { name: 'when the first start was not completed', found: { ...first, installation } },
  { name: 'with exactly the min memory', found: { ...first, memoryBytes: options.minMemoryBytes } },
]
for (const { name, found } of runs) {
  test(`it can run ${name}`, () => checkCanRun(options, found))
}

const cannotRun: { name: string; found: Found; expect: RegExp }[] = [
  {
    name: 'too little memory',
    found: { ...first, memoryBytes: 1.5 * 2 ** 30 },
    expect:
      /Docker host has \[1\.5\] GiB of memory, expected at least \[2\.0\] GiB \(SVC_MIN_MEMORY in \.env\)/,
  },
  {
    name: 'data without its passwords',
    found: { ...first, hasData: true },
    expect:
      /created by an earlier installation, whose passwords are lost\. To start over and delete all data of the cluster, run docker compose down --volumes$/,
  },
  {
    name: 'volumes of another layout',
    found: { ...later, installation: { ...installation, format: 2 } },
    expect: /have format \[2\], expected \[1\]/,
  },
  {
    name: 'a volume of another Postgres',
    found: { ...later, installation: { ...installation, postgres: '16' } },
    expect: /was created by Postgres \[16\], but POSTGRES_VERSION in \.env is \[17\]/,
  },
  {
    name: 'volumes of a newer version',
    found: { ...later, installation: { ...installation, schema: '0009_nine' } },
    expect: /their schema is \[0009_nine\], expected at most \[0002_two\]/,
  },
]
for (const { name, found, expect } of cannotRun) {
  test(`reports ${name} in one line`, () => {
    assert.throws(
      () => checkCanRun(options, found),
      ({ message }: Error) => expect.test(message) && !message.includes('\n'),
    )
  })
}

const counts = [
  { issued: 8, text: 'issued 8 certificates' },
  { issued: 1, text: 'issued 1 certificate and kept 7' },
  { issued: 0, text: 'all 8 certificates are valid' },
]
for (const { issued, text } of counts) {
  test(`says how many of 8 certificates were issued: ${issued}`, () =>
    assert.equal(certificatesText(issued, 8), text))
}
