import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type Fault,
  faultsAimedAt,
  faultsAt,
  faultsBetween,
  isCut,
  parseFaultRequest,
  readFaults,
  switchOn,
  waitOf,
} from './index.ts'

const targets = { roles: ['historical', 'router'], servers: ['127.0.0.1:8083', '127.0.0.1:8081'] }

describe('a fault request', () => {
  it('has defaults', () => {
    assert.deepEqual(parseFaultRequest({ kind: 'latency', target: 'router' }, targets), {
      kind: 'latency',
      target: 'router',
      from: null,
      probability: 1,
      delayMs: 1000,
      forMs: null,
    })
  })

  it('sets probability, delay, and duration', () => {
    const requested = {
      kind: 'latency',
      target: '127.0.0.1:8083',
      from: '127.0.0.1:8081',
      probability: 0.5,
      delayMs: 20,
      forMs: 30_000,
    }
    assert.deepEqual(parseFaultRequest(requested, targets), requested)
  })

  it('may last long, unless it is a kill', () => {
    for (const [kind, forMs] of [
      ['cut', 7 * 86_400_000],
      ['kill', 300_000],
    ])
      assert.equal(parseFaultRequest({ kind, target: 'router', forMs }, targets).forMs, forMs)
  })

  const refused: readonly [json: object, message: RegExp][] = [
    [
      { kind: 'flood', target: 'router' },
      /^Invalid value \[flood\] for \[kind\]: .*\[latency, cut, kill, slow-disk\]$/,
    ],
    [
      { kind: 'cut', target: 'broker' },
      /^Invalid value \[broker\] for \[target\]: .*\[historical, router, 127\.0\.0\.1:8083, 127\.0\.0\.1:8081\]$/,
    ],
    [{ kind: 'cut' }, /^Missing value for \[target\]/],
    [{ kind: 'cut', target: 'router', probability: 1.5 }, /\[probability\]: .*greater than 0 and at most 1/],
    [{ kind: 'cut', target: 'router', probability: 0 }, /Invalid value \[0\] for \[probability\]/],
    [{ kind: 'cut', target: 'router', probability: '1' }, /probability/],
    [{ kind: 'latency', target: 'router', delayMs: 0 }, /\[delayMs\]: .*from 1 to 600000/],
    [{ kind: 'latency', target: 'router', forMs: 5 }, /\[forMs\]: .*from 100 to/],
    [
      { kind: 'kill', target: 'router', forMs: 300_001 },
      /\[300001\] for \[forMs\]: .*from 100 to 300000 for a kill, because .*only coordinator/,
    ],
    [{ kind: 'latency', target: 'router', how: 'slow' }, /Unknown field \[how\]/],
    [
      { kind: 'kill', target: '127.0.0.1:8083', from: '127.0.0.1:8081' },
      /\[kill\] for \[kind\]: .*\[latency, cut\] for a fault with \[from\]/,
    ],
    [
      { kind: 'cut', target: 'router', from: '127.0.0.1:8081' },
      /\[router\] for \[target\]: .*\[127\.0\.0\.1:8083, 127\.0\.0\.1:8081\]$/,
    ],
    [{ kind: 'cut', target: '127.0.0.1:8083', from: 'router' }, /\[router\] for \[from\]/],
  ]
  for (const [json, message] of refused)
    it(`is rejected: ${JSON.stringify(json)}`, () =>
      assert.throws(() => parseFaultRequest(json, targets), { code: 'invalidInput', message }))
  it('is rejected with only the first targets if there are many', () => {
    const many = Array.from({ length: 1000 }, (_, index) => `h:${index + 1}`)
    assert.throws(() => parseFaultRequest({ kind: 'cut', target: 'h:0' }, { roles: [], servers: many }), {
      code: 'invalidInput',
      message: /expected a role or server of this cluster, such as \[h:1, .*, h:20\] \(and 980 more\)$/,
    })
  })
  for (const json of [null, [], 'cut'])
    it(`is rejected: ${JSON.stringify(json)}`, () =>
      assert.throws(() => parseFaultRequest(json, targets), { code: 'invalidInput' }))
})

const faultOf = (more: Partial<Fault>): Fault => ({
  id: 'f1',
  kind: 'latency',
  target: 'historical',
  from: null,
  probability: 1,
  delayMs: 100,
  since: 1000,
  until: null,
  once: false,
  ...more,
})

describe('a fault', () => {
  it('ends automatically when its time is over', () => {
    const on = switchOn(
      { kind: 'cut', target: 'router', from: null, probability: 1, delayMs: 1, forMs: 500 },
      'f1',
      1000,
    )
    assert.equal(on.until, 1500)
    assert.deepEqual(faultsAt([on], 1499), [on])
    assert.deepEqual(faultsAt([on], 1500), [])
  })

  it('without a duration does not end, except for a kill, which happens once', () => {
    const request = { target: 'router', from: null, probability: 1, delayMs: 1, forMs: null }
    const cut = switchOn({ ...request, kind: 'cut' }, 'f1', 1000)
    assert.deepEqual([cut.until, cut.once], [null, false])
    const kill = switchOn({ ...request, kind: 'kill' }, 'f2', 1000)
    assert.deepEqual([kill.until, kill.once], [11_000, true])
    assert.equal(switchOn({ ...request, kind: 'kill', forMs: 500 }, 'f3', 1000).once, false)
  })

  it('affects the servers of a role, or one server by its name', () => {
    const faults = [faultOf({}), faultOf({ target: 'h:1' }), faultOf({ target: 'broker' })]
    const aimed = faultsAimedAt(faults, { role: 'historical', name: 'h:1' })
    assert.deepEqual(
      aimed.map(({ target }) => target),
      ['historical', 'h:1'],
    )
  })

  it('between two servers affects only the requests from one to the other', () => {
    const between = faultOf({ target: 'h:1', from: 'b:1' })
    assert.deepEqual(faultsAimedAt([between], { role: 'historical', name: 'h:1' }), [])
    assert.deepEqual(faultsBetween([between, faultOf({ target: 'h:1' })], 'b:1', 'h:1'), [between])
    assert.deepEqual(faultsBetween([between], 'h:1', 'b:1'), [])
  })

  it('occurs according to its probability', () => {
    const half = faultOf({ probability: 0.5 })
    assert.equal(
      waitOf([half, faultOf({ delayMs: 7 })], 'latency', () => 0.4),
      107,
    )
    assert.equal(
      waitOf([half], 'latency', () => 0.5),
      0,
    )
    assert.equal(
      waitOf([half], 'slow-disk', () => 0),
      0,
    )
    assert.equal(
      isCut([half], () => 0),
      false,
    )
    const cut = faultOf({ kind: 'cut', probability: 0.5 })
    assert.equal(
      isCut([cut], () => 0.49),
      true,
    )
    assert.equal(
      isCut([cut], () => 0.5),
      false,
    )
    assert.equal(
      isCut([faultOf({ kind: 'cut', probability: 0 })], () => 0),
      false,
    )
  })

  it('is read back from the store', () => {
    const kept = [faultOf({})]
    assert.deepEqual(readFaults(JSON.parse(JSON.stringify(kept))), kept)
    const { from: _, ...earlier } = faultOf({})
    assert.deepEqual(readFaults([earlier]), kept)
    assert.deepEqual(readFaults(undefined), [])
  })
})
