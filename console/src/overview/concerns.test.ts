import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  certificateConcerns,
  certificateEnds,
  dutyConcerns,
  laterText,
  serverConcerns,
  stateConcerns,
  stateText,
  taskConcerns,
} from './concerns.ts'

const textsOf = (concerns: readonly { readonly text: string }[]) => concerns.map(({ text }) => text)
const time = '2026-01-01T00:00:00.000Z'
const certificate = (subject: string, validTo: string) => ({
  subject,
  issuer: 'CN=ours',
  names: '',
  validFrom: time,
  validTo,
  fingerprint: '',
})
const server = (role: string, validTo: string | null) => ({
  role,
  server: `${role}:1`,
  certificate: validTo === null ? null : certificate('CN=server', validTo),
  problem: null,
})

const settled = { known: true, settled: true, paused: false, reasons: [], shortages: [] }
const changed = { ...settled, settled: false, reasons: ['Changed since the last duty run: rules'] }
const missing = ['No historical has reported to the leader']
const pausedText = 'Coordination is paused, so no loads, moves, or drops are requested.'
const states = [
  {
    state: settled,
    text: 'The cluster is settled: every replica is where the rules require it, and all load queues are empty.',
    concerns: [],
  },
  {
    state: { ...settled, shortages: ['Tier [hot] is full'] },
    text: 'The cluster is settled: all load queues are empty, but some replicas cannot be loaded.',
    concerns: ['Tier [hot] is full'],
  },
  {
    state: changed,
    text: 'The cluster is not settled yet. Changed since the last duty run: rules.',
    concerns: [],
  },
  {
    state: changed,
    isLoading: true,
    text: 'The cluster is loading, moving, or dropping replicas to match the rules.',
    concerns: [],
  },
  { state: { ...changed, paused: true }, text: 'Coordination is paused.', concerns: [pausedText] },
  {
    state: { ...changed, known: false, reasons: missing },
    text: 'The leader is waiting for servers to report.',
    concerns: missing,
  },
]
for (const { state, isLoading = false, text, concerns } of states)
  test(`says: ${text}`, () => {
    assert.deepEqual([stateText(state, isLoading), textsOf(stateConcerns(state))], [text, concerns])
  })

test('says which servers are missing or not ready, and why', () => {
  assert.deepEqual(
    textsOf(
      serverConcerns([
        { role: 'broker', server: 'b:1', state: 'missing', problem: 'No heartbeat for 45 s' },
        { role: 'historical', server: 'h:1', state: 'notReady', problem: 'The certificate has expired' },
      ]),
    ),
    [
      'The broker b:1 is missing: No heartbeat for 45 s.',
      'The historical h:1 is not ready: The certificate has expired.',
    ],
  )
})

test('lists all certificates, soonest first, and says which have expired or expire soon', () => {
  const client = [{ labels: { certificate: 'client' }, value: 86_400 }]
  const metrics = new Map([['router', new Map([['svc_tls_certificate_expiry_seconds', client]])]] as const)
  const ends = certificateEnds(
    {
      time,
      servers: [
        server('router', '2027-01-01T00:00:00.000Z'),
        server('worker', null),
        server('historical', '2025-12-31T00:00:00.000Z'),
        ...Array.from({ length: 5 }, (_, at) => server(`broker${at}`, '2026-01-05T00:00:00.000Z')),
      ],
      authorities: [certificate('CN=ours', '2026-01-11T00:00:00.000Z')],
    },
    metrics,
  )
  assert.deepEqual(
    ends.map(({ owner }) => owner),
    [
      'historical historical:1',
      'router',
      ...Array.from({ length: 5 }, (_, at) => `broker${at} broker${at}:1`),
      'CN=ours',
      'router router:1',
      'worker worker:1',
    ],
  )
  assert.deepEqual(textsOf(certificateConcerns(ends)), [
    'The server certificate of the historical historical:1 has expired.',
    'The client certificate of the router expires in 24 h.',
    'The server certificates of the broker0 broker0:1, the broker1 broker1:1, the broker2 broker2:1, and 2 others expire in 4 days.',
    'The certificate of authority CN=ours expires in 10 days.',
  ])
})

test('counts the tasks that failed within a day', () => {
  const task = (status: 'FAILED' | 'SUCCESS', hoursAgo: number) =>
    ({ status, dataSource: 'wiki', ageMs: hoursAgo * 3_600_000 }) as never
  assert.deepEqual(textsOf(taskConcerns([task('FAILED', 1), task('FAILED', 25), task('SUCCESS', 1)], 100)), [
    'A task for wiki failed within the last day.',
  ])
})

test('says how many certificates expire later', () => {
  assert.equal(laterText(1), '1 other certificate expires later.')
  assert.equal(laterText(2), '2 other certificates expire later.')
})

test('names duties that failed in their last run, however often, but not those that have recovered', () => {
  const group = { period: 'PT10S', runs: 90, failures: { runRules: 3, balance: 80, kill: 1 } }
  const lastErrors = { runRules: 'Postgres is unreachable', kill: 'The disk is full.' }
  assert.deepEqual(dutyConcerns({ coordinator: [{ ...group, lastErrors }] }), [
    {
      text: 'Duty runRules of the coordinator failed in its last run (3 of 90 runs so far): Postgres is unreachable. It runs again within 10 s.',
      href: '/runs',
    },
    {
      text: 'Duty kill of the coordinator failed in its last run (1 of 90 runs so far): The disk is full. It runs again within 10 s.',
      href: '/runs',
    },
  ])
  assert.deepEqual(dutyConcerns({ coordinator: [{ ...group, lastErrors: {} }] }), [])
})
