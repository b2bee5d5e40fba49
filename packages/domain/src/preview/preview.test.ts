import assert from 'node:assert/strict'
import { describe, mock, test } from 'node:test'
import fc from 'fast-check'
import { compileRules, defaultRule, matchRule, parseRules, RuleBoundaries } from '../rules/index.ts'
import { finish } from '../steps/index.ts'
import { longRuleLists } from '../testing/index.ts'
import { eternity, formatInstant, formatInterval, lastTime, parseInstant } from '../time/index.ts'
import { stepTimes } from './future-steps.ts'
import { columnsOf, groupGivenSegments, parsePreviewRequest, warningsOfList } from './index.ts'
import { stretchesOf } from './stretches.ts'
import { previewGiven, testNow } from './test-preview.ts'
import { findUnreachedRules } from './unreached.ts'

const day = (number: number): string => {
  const start = parseInstant('2026-06-01') + number * 86_400_000
  return formatInterval({ start, end: start + 86_400_000 })
}
const server = (name: string, tier = '_default_tier', more: object = {}) => ({
  name,
  type: 'historical',
  tier,
  ...more,
})
const load = (tieredReplicants: object) => ({ type: 'loadForever', tieredReplicants })

describe('a preview request', () => {
  test('fills in datasource [preview], the epoch as version, one partition, and size 0 for a segment', () => {
    const { rows } = previewGiven({ rules: [], segments: [{ interval: day(0) }], servers: [server('a')] })
    assert.deepEqual(rows, [
      {
        dataSource: 'preview',
        interval: day(0),
        version: '1970-01-01T00:00:00.000Z',
        partitionNum: 0,
        overshadowed: false,
        rule: { index: 0, type: 'loadForever', source: 'default' },
        action: 'load',
        loaded: { _default_tier: 1 },
        brokers: 0,
      },
    ])
  })

  test('sets no size limit for a server by default', () => {
    const segments = [{ interval: day(0), size: Number.MAX_SAFE_INTEGER }]
    const { rows } = previewGiven({ rules: [], segments, servers: [server('a'), server('b')] })
    assert.deepEqual(rows[0]!.loaded, { _default_tier: 2 })
  })

  test('ends with a rule that loads everything', () => {
    const { rows } = previewGiven({
      rules: [{ type: 'dropByInterval', interval: '2000/2001' }],
      defaultRules: [{ type: 'dropByInterval', interval: '2001/2002' }],
      segments: [{ interval: day(0) }],
      servers: [],
    })
    assert.deepEqual(rows[0]!.rule, { index: 1, type: 'loadForever', source: 'default' })
  })

  test('accepts eternity as the interval of segments and rules', () => {
    const eternityText = '-146136543-09-08T08:23:32.096Z/146140482-04-24T15:36:27.903Z'
    const { rows } = previewGiven({
      rules: [{ type: 'loadByInterval', interval: eternityText, tieredReplicants: { hot: 1 } }],
      segments: [{ interval: eternityText }, { interval: day(0) }],
      servers: [server('a', 'hot')],
    })
    assert.deepEqual(
      rows.map(({ interval, rule, loaded }) => [interval, rule!.index, loaded]),
      [
        [eternityText, 0, { hot: 1 }],
        [day(0), 0, { hot: 1 }],
      ],
    )
  })

  test('accepts the rows of an answer as segments', () => {
    const request = { rules: [], segments: [{ interval: day(0), size: 3 }], servers: [server('a')] }
    const { rows } = previewGiven(request)
    assert.deepEqual(previewGiven({ ...request, segments: rows }).rows, rows)
  })
})

describe('replica placement', () => {
  const cases: {
    name: string
    rules?: object[]
    servers: object[]
    segments: object[]
    loaded: object[]
    brokers?: number[]
  }[] = [
    {
      name: 'loads at most one replica per server, and none in tiers without servers',
      rules: [load({ hot: 5, nosuchtier: 1, cold: 0 })],
      servers: [server('a', 'hot'), server('b', 'hot'), server('c', 'cold')],
      segments: [{ interval: day(0) }],
      loaded: [{ hot: 2 }],
    },
    {
      name: 'loads nothing for an empty map of tiers',
      rules: [{ type: 'loadForever', tieredReplicants: {}, useDefaultTierForNull: false }, load({ hot: 1 })],
      servers: [server('a', 'hot')],
      segments: [{ interval: day(0) }],
      loaded: [{}],
    },
    {
      name: 'loads the newest segments first if space is limited',
      servers: [server('a', '_default_tier', { maxSize: 100 })],
      segments: [
        { interval: day(1), size: 60 },
        { interval: day(3), size: 60 },
        { interval: day(2), size: 40 },
        { interval: day(0), size: 0 },
      ],
      loaded: [{}, { _default_tier: 1 }, { _default_tier: 1 }, { _default_tier: 1 }],
    },
    {
      name: 'loads one replica of a segment that fits on only one server',
      servers: [
        server('a', '_default_tier', { maxSize: 100 }),
        server('b', '_default_tier', { maxSize: 50 }),
      ],
      segments: [{ interval: day(0), size: 60 }],
      loaded: [{ _default_tier: 1 }],
    },
    {
      name: 'loads an empty segment on a server without storage, as the planner does',
      servers: [server('a', '_default_tier', { maxSize: 0 }), server('b')],
      segments: [{ interval: day(0) }, { interval: day(1), size: 1 }],
      loaded: [{ _default_tier: 2 }, { _default_tier: 1 }],
    },
    {
      name: 'broadcasts to every server with storage',
      rules: [{ type: 'broadcastForever' }],
      servers: [
        server('a', 'hot'),
        server('b', 'cold'),
        server('c', 'cold', { maxSize: 0 }),
        server('d', '_default_tier', { type: 'broker' }),
        server('e', '_default_tier', { type: 'broker', maxSize: 0 }),
        server('f', '_default_tier', { type: 'broker', maxSize: 5 }),
      ],
      segments: [
        { interval: day(0), size: 5 },
        { interval: day(1), size: 4 },
      ],
      loaded: [
        { cold: 1, hot: 1 },
        { cold: 1, hot: 1 },
      ],
      brokers: [1, 2],
    },
    {
      name: 'drops overshadowed segments, which take no space',
      servers: [server('a', '_default_tier', { maxSize: 10 })],
      segments: [
        { interval: day(0), size: 10, version: '2026-01-01T00:00:00.000Z' },
        { interval: day(0), size: 10, version: '2026-01-02T00:00:00.000Z' },
      ],
      loaded: [{}, { _default_tier: 1 }],
    },
    {
      name: 'never overshadows segments of other datasources',
      servers: [server('a')],
      segments: [
        { interval: day(0), dataSource: 'x', version: '1' },
        { interval: day(0), dataSource: 'y', version: '2' },
      ],
      loaded: [{ _default_tier: 1 }, { _default_tier: 1 }],
    },
  ]
  for (const { name, rules = [], servers, segments, loaded, brokers } of cases) {
    test(name, () => {
      const { rows } = previewGiven({ rules, servers, segments })
      assert.deepEqual(
        rows.map((row) => row.loaded),
        loaded,
      )
      if (brokers)
        assert.deepEqual(
          rows.map((row) => row.brokers),
          brokers,
        )
    })
  }

  const smallCluster = fc.record({
    capacities: fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 1, maxLength: 5 }),
    sizes: fc.array(fc.integer({ min: 0, max: 30 }), { minLength: 1, maxLength: 20 }),
    copies: fc.integer({ min: 0, max: 6 }),
  })
  test('never exceeds the capacity of servers, and loads all replicas that fit', () => {
    fc.assert(
      fc.property(smallCluster, ({ capacities, sizes, copies }) => {
        const servers = capacities.map((maxSize, index) => server(`s${index}`, 'hot', { maxSize }))
        const segments = sizes.map((size, index) => ({ interval: day(index), size }))
        const { rows, result } = previewGiven({ rules: [load({ hot: copies })], servers, segments })
        const held = rows.map(({ loaded }) => loaded.hot ?? 0)
        const bytes = held.reduce((sum, count, index) => sum + count * sizes[index]!, 0)
        const capacity = capacities.reduce((sum, one) => sum + one, 0)
        assert.ok(bytes <= capacity)
        held.forEach((count, index) => {
          const fitting = capacities.filter((one) => one >= sizes[index]!).length
          assert.ok(
            count <= Math.min(copies, fitting),
            `${count} replicas of a segment with ${sizes[index]} bytes`,
          )
        })
        const wanted = Math.min(copies, capacities.length)
        const missing = held.reduce((sum, count) => sum + wanted - count, 0)
        assert.equal(result.tiers[0]!.doesNotFit.copies, missing)
      }),
    )
  })
})

describe('the summary', () => {
  const request = {
    rules: {
      wiki: [{ type: 'loadByPeriod', period: 'P5D', tieredReplicants: { hot: 2 } }, { type: 'dropForever' }],
    },
    segments: [0, 5, 12, 13].map((number) => ({ dataSource: 'wiki', interval: day(number), size: 10 })),
    servers: [server('a', 'hot', { maxSize: 25 }), server('b', 'hot', { maxSize: 25 })],
  }

  test('shows what is loaded, marked as unused, and kept, and what does not fit', () => {
    const none = { segments: 0, copies: 0, bytes: 0 }
    const twoTwice = { segments: 2, copies: 4, bytes: 40 }
    const nowhere = { ...none, days: 0, interval: null }
    const nothing = { segments: 0, bytes: 0, days: 0, interval: null }
    const old = {
      segments: 2,
      bytes: 20,
      days: 2,
      interval: formatInterval({ start: parseInstant('2026-06-01'), end: parseInstant('2026-06-07') }),
    }
    const recent = formatInterval({ start: parseInstant('2026-06-13'), end: parseInstant('2026-06-15') })
    const effects = {
      unqueryable: { ...old, queryableBefore: 0 },
      unused: old,
      overshadowed: nothing,
      underReplicated: nowhere,
      doesNotFit: nowhere,
      waitingForTier: { ...nowhere, tiers: [] },
      moved: nowhere,
      loaded: { ...twoTwice, days: 2, interval: recent },
      dropped: nowhere,
    }
    assert.deepEqual(previewGiven(request).summary, {
      effects,
      datasources: {
        wiki: {
          used: { segments: 4, bytes: 40 },
          effects,
          tiers: { hot: { before: none, after: twoTwice, loaded: twoTwice, dropped: none } },
          markedUnused: { segments: 2, bytes: 20 },
          oldestInterval: day(12),
          newestInterval: day(13),
        },
      },
      used: { segments: 4, bytes: 40 },
      tiers: {
        hot: {
          servers: 2,
          bytesBefore: 0,
          bytesAfter: 40,
          doesNotFit: none,
          capacityBytes: 50,
          doesNotFitFrom: null,
        },
      },
    })
  })

  test('shows when replicas no longer fit, now or at a later step', () => {
    const rules = [{ type: 'loadByPeriod', period: 'P10D', tieredReplicants: { hot: 1 } }, load({ cold: 1 })]
    const segments = [day(0), day(1), day(9)].map((interval) => ({ interval, size: 10 }))
    const fromOf = (maxSize: number) => {
      const servers = [server('a', 'hot'), server('b', 'cold', { maxSize })]
      const { summary } = previewGiven({ rules, segments, servers, horizon: 'P12D' })
      return (summary.tiers as Record<string, { doesNotFitFrom: string | null }>).cold!.doesNotFitFrom
    }
    assert.deepEqual([15, 25, 30].map(fromOf), ['2026-06-15T00:00:00.000Z', '2026-06-21T00:00:00.000Z', null])
  })

  test('continues into the future, and dropped data stays dropped', () => {
    const { summary } = previewGiven({ ...request, horizon: 'P12D' })
    const steps = (summary.steps as object[]).slice(0, 4) as {
      now: string
      datasources: Record<string, { markedUnused: object }>
    }[]
    assert.deepEqual(
      steps.map(({ now }) => now),
      ['2026-06-16', '2026-06-17', '2026-06-18', '2026-06-19'].map((text) => `${text}T00:00:00.000Z`),
    )
    assert.deepEqual(
      steps.map(({ datasources }) => datasources.wiki!.markedUnused),
      [
        { segments: 0, bytes: 0 },
        { segments: 0, bytes: 0 },
        { segments: 0, bytes: 0 },
        { segments: 1, bytes: 10 },
      ],
    )
  })

  test('keeps a segment unused after a moving window has dropped it', () => {
    const { summary } = previewGiven({
      rules: [
        { type: 'dropByInterval', interval: '2000/2001' },
        { type: 'dropByPeriod', period: 'P2D', includeFuture: false },
      ],
      segments: [{ interval: day(16), size: 10 }],
      servers: [server('a')],
      horizon: 'P12D',
    })
    const steps = summary.steps ?? []
    assert.deepEqual(
      steps.map(({ datasources }) => datasources.preview!.newestInterval !== null),
      [true, true, ...Array(10).fill(false)],
    )
    assert.equal(
      steps.reduce((sum, { datasources }) => sum + datasources.preview!.markedUnused.segments, 0),
      1,
    )
  })

  const horizons: [period: string, steps: number, second: string][] = [
    ['PT0S', 0, ''],
    ['PT1M', 1, ''],
    ['PT1H', 12, '2026-06-15T00:10:00.000Z'],
    ['P1D', 24, '2026-06-15T02:00:00.000Z'],
    ['P4D', 16, '2026-06-15T12:00:00.000Z'],
    ['P30D', 30, '2026-06-17T00:00:00.000Z'],
    ['P11W', 77, '2026-06-17T00:00:00.000Z'],
    ['P90D', 13, '2026-06-29T00:00:00.000Z'],
    ['P1Y', 12, '2026-08-15T00:00:00.000Z'],
    ['P10Y', 120, '2026-08-15T00:00:00.000Z'],
  ]
  for (const [period, steps, second] of horizons) {
    test(`splits a horizon of ${period} into ${steps} steps`, () => {
      const { horizon } = finish(parsePreviewRequest({ rules: [], horizon: period }, testNow))
      const moments = stepTimes(testNow, horizon!)
      assert.equal(moments.length, steps)
      if (second !== '') assert.equal(formatInstant(moments[1]!), second)
    })
  }
})

describe('ranges of segments with the same rule', () => {
  const instant = fc.oneof(
    fc.integer({ min: -30, max: 30 }).map((number) => testNow + number * 86_400_000),
    fc.integer({ min: -3, max: 3 }).map((number) => testNow + number),
    fc.constantFrom(-Infinity, Infinity),
  )
  const interval = fc
    .tuple(instant, instant)
    .filter(([a, b]) => a !== b)
    .map(([a, b]) => ({ start: Math.min(a, b), end: Math.max(a, b) }))
  const period = fc.constantFrom('PT0S', 'P1D', 'P10D', 'P1M', 'P30D', 'P500000Y')
  const includeFuture = fc.boolean()
  const finiteInterval = interval.map(formatInterval)
  const rule = fc.oneof(
    fc.record({ type: fc.constantFrom('loadForever', 'dropForever', 'broadcastForever') }),
    fc.record({
      type: fc.constantFrom('loadByInterval', 'dropByInterval', 'broadcastByInterval'),
      interval: finiteInterval,
    }),
    fc.record({
      type: fc.constantFrom('loadByPeriod', 'dropByPeriod', 'broadcastByPeriod'),
      period,
      includeFuture,
    }),
    fc.record({ type: fc.constant('dropBeforeByPeriod'), period }),
  )

  test('have the same rule as each of their segments', () => {
    fc.assert(
      fc.property(
        fc.array(interval, { maxLength: 30 }),
        fc.array(rule, { maxLength: 6 }),
        (intervals, json) => {
          const rules = [...parseRules(json), defaultRule]
          const compiled = compileRules(rules, testNow)
          const [group] = finish(
            groupGivenSegments(
              intervals.map((one, index) => ({
                dataSource: 'x',
                interval: one,
                version: 'v',
                partitionNum: index,
                partitions: 0,
                sizeBytes: index,
              })),
            ),
          )
          if (group === undefined) return
          const columns = finish(columnsOf(group.segments))
          const stretches = finish(stretchesOf(columns, new RuleBoundaries(rules.slice(0, -1), [], testNow)))
          const found = intervals.map(() => -1)
          for (const { from, to, rule: index } of stretches)
            for (let position = from; position < to; position += 1) found[columns.indexes[position]!] = index
          assert.deepEqual(
            found,
            intervals.map((one) => matchRule(compiled, one)),
          )
          assert.equal(columns.bytesBefore.at(-1), (intervals.length * (intervals.length - 1)) / 2)
        },
      ),
      { numRuns: 300 },
    )
  })

  test('form one chain per granularity', () => {
    const hours = Array.from({ length: 240 }, (_, hour) => ({
      start: testNow + hour * 3_600_000,
      end: testNow + (hour + 1) * 3_600_000,
    }))
    const days = Array.from({ length: 10 }, (_, number) => ({
      start: testNow + number * 86_400_000,
      end: testNow + (number + 1) * 86_400_000,
    }))
    const chainsOf = (intervals: typeof hours) =>
      finish(
        columnsOf(
          finish(
            groupGivenSegments(
              intervals.toReversed().map((one, partitionNum) => ({
                dataSource: 'x',
                interval: one,
                version: 'v',
                partitionNum,
                partitions: 0,
                sizeBytes: 0,
              })),
            ),
          )[0]!.segments,
        ),
      ).chainEnds.length
    assert.equal(chainsOf(hours), 1)
    assert.equal(chainsOf([...hours, ...days]), 2)
  })
})

describe('rules that are never reached', () => {
  const cases: [name: string, rules: object[], unreached: [index: number, hiddenBy: number[]][]][] = [
    [
      'include any rule after a rule that matches everything',
      [{ type: 'dropForever' }, { type: 'loadForever' }],
      [[1, [0]]],
    ],
    [
      'include a shorter window after a longer one',
      [
        { type: 'loadByPeriod', period: 'P1Y' },
        { type: 'loadByPeriod', period: 'P1M' },
      ],
      [[1, [0]]],
    ],
    [
      'exclude a longer window after a shorter one',
      [
        { type: 'loadByPeriod', period: 'P1M' },
        { type: 'loadByPeriod', period: 'P1Y' },
      ],
      [],
    ],
    [
      'include a rule after two rules that match everything together',
      [
        { type: 'loadByPeriod', period: 'P1M' },
        { type: 'dropBeforeByPeriod', period: 'P1M' },
        { type: 'loadForever' },
      ],
      [[2, [0, 1]]],
    ],
    [
      'exclude an interval that a moving window covers only for now',
      [
        { type: 'loadByPeriod', period: 'P1M' },
        { type: 'loadByInterval', interval: '2026-06-01/2026-06-10' },
      ],
      [],
    ],
    [
      'include an interval that will always be before a moving bound',
      [
        { type: 'dropBeforeByPeriod', period: 'P1M' },
        { type: 'dropByInterval', interval: '2020-01-01/2021-01-01' },
      ],
      [[1, [0]]],
    ],
    [
      'exclude both a month and 30 days, because either can be longer',
      [
        { type: 'loadByPeriod', period: 'P30D' },
        { type: 'loadByPeriod', period: 'P1M' },
      ],
      [],
    ],
    [
      'include a month after 31 days, because it is never longer',
      [
        { type: 'loadByPeriod', period: 'P31D' },
        { type: 'loadByPeriod', period: 'P1M' },
      ],
      [[1, [0]]],
    ],
    [
      'include a rule that applies to nothing',
      [{ type: 'dropByPeriod', period: 'PT0S', includeFuture: false }],
      [[0, []]],
    ],
    [
      'include an interval inside another, in a long list',
      [
        ...Array.from({ length: 300 }, (_, index) => ({
          type: 'loadByInterval',
          interval: `${1000 + 2 * index}/${1001 + 2 * index}`,
        })),
        { type: 'dropByInterval', interval: '1400-02-01/1400-03-01' },
      ],
      [[300, [200]]],
    ],
    [
      'include a duplicate interval, in a long list',
      [
        ...Array.from({ length: 300 }, (_, index) => ({
          type: 'loadByInterval',
          interval: `${1000 + 2 * index}/${1001 + 2 * index}`,
        })),
        { type: 'loadByInterval', interval: '1400-02-01/1400-03-01' },
      ],
      [[300, [200]]],
    ],
  ]
  for (const [name, rules, unreached] of cases) {
    test(name, () => {
      const warnings = finish(warningsOfList('wiki', parseRules(rules), testNow))
      assert.deepEqual(
        warnings.map((warning) =>
          warning.type === 'ruleNeverReached'
            ? [warning.rule.index, warning.hiddenBy.map(({ index }) => index)]
            : warning.type,
        ),
        unreached,
      )
    })
  }
})

describe('unreached rules in random lists', () => {
  const interval = fc
    .tuple(fc.integer({ min: -9, max: 9 }), fc.nat(8))
    .map(([from, length]) => ({
      start: testNow + from * 3_600_000,
      end: testNow + (from + length) * 3_600_000,
    }))
    .map(formatInterval)
  const replicants = { tieredReplicants: {} }
  const fixedRule = fc.oneof(
    interval.map((one) => ({ type: 'loadByInterval', interval: one, ...replicants })),
    interval.map((one) => ({ type: 'dropByInterval', interval: one })),
  )
  const movingRule = fc
    .tuple(fc.constantFrom('loadByPeriod', 'dropByPeriod', 'dropBeforeByPeriod'), fc.nat(6), fc.boolean())
    .map(([type, hours, includeFuture]) => ({
      type,
      period: `PT${hours}H`,
      ...(type === 'dropBeforeByPeriod' ? {} : { includeFuture }),
      ...(type === 'loadByPeriod' ? replicants : {}),
    }))
  const bounds = Array.from({ length: 40 }, (_, index) => testNow + (index - 20) * 3_600_000)
  const instants = [-Infinity, ...bounds.flatMap((bound) => [bound - 1, bound, bound + 1]), Infinity]
  const placesAt = (shift: number) =>
    instants.flatMap((start, at) =>
      instants.slice(at + 1).map((end) => ({ start: start + shift, end: end + shift })),
    )

  test('are the rules that no possible segment matches first', () => {
    const places = placesAt(0)
    fc.assert(
      fc.property(fc.array(fixedRule, { maxLength: 7 }), (json) => {
        const rules = parseRules(json)
        const compiled = compileRules(rules, testNow)
        const reached = new Set(places.map((place) => matchRule(compiled, place)))
        const unreached = finish(findUnreachedRules(rules, testNow))
        assert.deepEqual(
          unreached.map(({ index }) => index),
          [...rules.keys()].filter((index) => !reached.has(index)),
        )
        for (const { index, hiddenBy } of unreached) {
          const under = places.filter((place) => compiled[index]!.appliesTo(place))
          const [one, ...others] = [...rules.keys()]
            .slice(0, index)
            .filter((other) => under.every((place) => compiled[other]!.appliesTo(place)))
          if (under.length === 0) assert.deepEqual(hiddenBy, [])
          else if (one !== undefined) assert.deepEqual(hiddenBy, [one], `${others}`)
          else
            assert.deepEqual(hiddenBy, [...new Set(under.map((place) => matchRule(compiled, place)))].sort())
        }
      }),
      { numRuns: 100 },
    )
  })

  test('stay unreached in the future', () => {
    const moments = [0, 1, 2, 3, 5, 8, 13, 40].map((hours) => hours * 3_600_000 + (hours % 2) * 1_800_000)
    fc.assert(
      fc.property(fc.array(fc.oneof(fixedRule, movingRule), { maxLength: 7 }), (json) => {
        const rules = parseRules(json)
        const unreached = finish(findUnreachedRules(rules, testNow))
        for (const moment of moments) {
          const compiled = compileRules(rules, testNow + moment)
          for (const place of [...placesAt(0), ...placesAt(moment)]) {
            const first = matchRule(compiled, place)
            assert.ok(!unreached.some(({ index }) => index === first))
          }
        }
      }),
      { numRuns: 10 },
    )
  })
})

// Much longer than any of these tests takes, and much shorter than quadratic time would take.
const longListMs = 20_000

describe('a preview of 10,000 rules', () => {
  const servers = Array.from({ length: 200 }, (_, index) => ({
    name: `s${index}`,
    type: 'historical',
    tier: index === 0 ? '_default_tier' : `tier${index}`,
    maxSize: 1_000_000,
  }))
  const days = Array.from({ length: 1000 }, (_, index) => {
    const start = parseInstant('2016-01-01') + index * 86_400_000
    return { interval: formatInterval({ start, end: start + 86_400_000 }), size: 10 }
  })
  const nested = Array.from({ length: 1000 }, (_, index) => ({
    interval: formatInterval({
      start: parseInstant('2020-01-01') - index * 86_400_000,
      end: parseInstant('2020-01-02') + index * 86_400_000,
    }),
    size: 10,
  }))
  for (const [name, rulesOf] of Object.entries(longRuleLists)) {
    test(`is fast: ${name}`, () => {
      const segments = [...days, ...nested]
      const startedAt = performance.now()
      previewGiven({ rules: rulesOf(10_000), segments, servers: servers.slice(0, 3) })
      previewGiven({ rules: rulesOf(1000), segments, servers: servers.slice(0, 3), horizon: 'P1M' })
      assert.ok(performance.now() - startedAt < longListMs)
    })
  }

  test('is fast with thousands of tiers per rule', () => {
    const startedAt = performance.now()
    const tieredReplicants = Object.fromEntries(
      Array.from({ length: 20_000 }, (_, index) => [`tier${index}`, 2]),
    )
    const rules = [
      ...Array.from({ length: 20 }, (_, index) => ({
        type: 'loadByInterval',
        interval: `${2000 + index}/${2001 + index}`,
        tieredReplicants,
      })),
      { type: 'broadcastForever' },
    ]
    const { result } = previewGiven({ rules, segments: [...days, ...nested], servers })
    assert.equal(result.warnings.length, 1000)
    assert.ok(performance.now() - startedAt < longListMs)
  })

  test('fails immediately for too many rule lists', () => {
    const rules = Object.fromEntries(Array.from({ length: 400_000 }, (_, index) => [`d${index}`, []]))
    assert.throws(() => previewGiven({ rules }), {
      message: 'Too many rule lists [400000] in [rules]: expected at most 10000',
    })
  })

  test('fails for too many datasources and tiers', () => {
    const segments = Array.from({ length: 10_000 }, (_, index) => ({
      interval: day(0),
      dataSource: `d${index}`,
    }))
    assert.throws(() => previewGiven({ rules: [], segments, servers }), {
      code: 'invalidInput',
      message: /^The preview is too large: \[10000\] datasources and \[200\] tiers\. Preview at most/,
    })
  })

  test('fails for too many segments in full tiers', () => {
    const segments = Array.from({ length: 50_000 }, (_, index) => ({
      interval: day(0),
      partitionNum: index,
      partitions: 0,
      size: 1000,
    }))
    const small = Array.from({ length: 1000 }, (_, index) =>
      server(`s${index}`, `t${index}`, { maxSize: 10 }),
    )
    assert.throws(() => previewGiven({ rules: [{ type: 'broadcastForever' }], segments, servers: small }), {
      code: 'invalidInput',
      message:
        /^The preview is too large: \[50,000\] segments in \[1,000\] tiers that may run out of space\. Preview fewer/,
    })
  })

  test('fails for too many tiers in the rows of the answer', () => {
    const segments = Array.from({ length: 5000 }, (_, index) => ({
      interval: day(0),
      partitionNum: index,
      partitions: 0,
    }))
    const unlimited = Array.from({ length: 1000 }, (_, index) => server(`s${index}`, `t${index}`))
    assert.throws(
      () => previewGiven({ rules: [{ type: 'broadcastForever' }], segments, servers: unlimited }),
      {
        code: 'invalidInput',
        message: /^The preview is too large: more than \[2,500,000\] segment-tier pairs\. Preview fewer/,
      },
    )
  })

  test('yields often enough for other work', () => {
    // Steps take a few milliseconds of CPU time. The first steps take longer, because the code is being compiled.
    const maxStepMicroseconds = 2_000_000
    const segments = Array.from({ length: 20_000 }, (_, index) => ({
      ...nested[index % nested.length],
      version: `v${index}`,
    }))
    const steps = parsePreviewRequest(
      { rules: longRuleLists['tiers that do not exist']!(10_000), segments, servers },
      testNow,
    )
    for (let done: boolean | undefined = false, count = 0; !done; count += 1) {
      const startedAt = process.threadCpuUsage()
      done = steps.next().done
      assert.ok(process.threadCpuUsage(startedAt).user < maxStepMicroseconds)
      if (done) assert.ok(count > 100)
    }
  })

  test('formats no warning about replicas for which there are servers', () => {
    const format = mock.method(Number.prototype, 'toLocaleString')
    const { result } = previewGiven({
      rules: longRuleLists['one interval']!(10_000),
      segments: [{ interval: day(0) }],
      servers: [server('a'), server('b'), server('c', 'hot'), server('d', 'hot')],
    })
    const { length } = format.mock.calls
    format.mock.restore()
    assert.ok(result.warnings.every(({ type }) => type === 'ruleNeverReached'))
    assert.ok(length < 100, `${length}`)
  })

  test('detects 2,000 identical rules', () => {
    const rules = parseRules(longRuleLists['one interval']!(2000))
    const unreached = finish(findUnreachedRules(rules, testNow))
    assert.deepEqual(
      unreached,
      Array.from({ length: 1999 }, (_, index) => ({ index: index + 1, hiddenBy: [0] })),
    )
  })
})

describe('warnings', () => {
  const typesOf = (request: object) => previewGiven(request).result.warnings.map(({ type }) => type)
  const segments = [{ interval: day(0), size: 10 }]
  const servers = [server('a', 'hot')]

  test('are empty for rules without problems', () => {
    assert.deepEqual(typesOf({ rules: [load({ hot: 1 })], segments, servers }), [])
  })

  test('report data that becomes unused, with the rule, the bytes, and the interval', () => {
    const rules = [
      { type: 'loadByPeriod', period: 'P1D', tieredReplicants: { hot: 1 } },
      { type: 'dropForever' },
    ]
    const [warning, ...more] = previewGiven({ rules, segments, servers }).result.warnings
    assert.deepEqual(more, [])
    assert.deepEqual(warning, {
      type: 'dataBecomesUnused',
      dataSource: 'preview',
      rule: { index: 1, type: 'dropForever', source: 'datasource' },
      segments: 1,
      bytes: 10,
      interval: day(0),
      message: `Datasource [preview]: rule [1] [dropForever] marks 1 segment (10 B) in [${day(0)}] as unused`,
    })
  })

  test('report data of which a load rule loads no replicas', () => {
    const rules = [{ type: 'loadByPeriod', period: 'P1M', tieredReplicants: {} }, load({ hot: 1 })]
    const [warning, ...more] = previewGiven({ rules, segments, servers }).result.warnings
    assert.deepEqual(more, [])
    assert.deepEqual(warning, {
      type: 'noReplicasLoaded',
      dataSource: 'preview',
      rule: { index: 0, type: 'loadByPeriod', source: 'datasource' },
      segments: 1,
      bytes: 10,
      interval: day(0),
      message: `Datasource [preview]: rule [0] [loadByPeriod] loads no replicas of 1 segment (10 B) in [${day(0)}], which cannot be queried without a replica`,
    })
  })

  const cases: [name: string, rules: object[], servers: object[], types: string[]][] = [
    ['report a tier without servers', [load({ hot: 1, cold: 1 })], servers, ['tierWithoutServers']],
    ['report more replicas than servers', [load({ hot: 2 })], servers, ['replicasAboveServers']],
    [
      'report that future data is dropped',
      [{ type: 'dropByPeriod', period: 'P1D' }, load({ hot: 1 })],
      servers,
      ['futureDataDropped'],
    ],
    [
      'report nothing if future data is not dropped',
      [{ type: 'dropByPeriod', period: 'P1D', includeFuture: false }, load({ hot: 1 })],
      servers,
      [],
    ],
    [
      'report servers that cannot load broadcast segments',
      [{ type: 'broadcastForever' }],
      [server('a', 'hot'), server('b', 'hot', { maxSize: 0 })],
      ['serverCannotHoldSegments', 'doesNotFit'],
    ],
    ['report a full tier', [load({ hot: 1 })], [server('a', 'hot', { maxSize: 9 })], ['doesNotFit']],
    [
      'report a rule that is never reached',
      [load({ hot: 1 }), { type: 'dropForever' }],
      servers,
      ['ruleNeverReached'],
    ],
  ]
  for (const [name, rules, ofServers, types] of cases) {
    test(name, () => assert.deepEqual(typesOf({ rules, segments, servers: ofServers }), types))
  }

  const months = (...periods: string[]) =>
    periods.map((period) => ({ type: 'loadByPeriod', period, tieredReplicants: { hot: 1 } }))
  const dropForever = { type: 'dropForever' }
  const addedPeriods: [name: string, rules: object[], defaults: object[], message: string | undefined][] = [
    [
      'a month, then three',
      [...months('P1M', 'P3M'), dropForever],
      [],
      'Datasource [preview]: rules [0] and [1] together keep only [P3M] of data, not [P4M], because both periods are counted back from now',
    ],
    [
      'a drop rule among the defaults',
      months('P7D', 'P1M', 'P1Y'),
      [dropForever],
      'Datasource [preview]: rules [0], [1], and [2] together keep only [P1Y] of data, not [P1Y1M7D], because all periods are counted back from now',
    ],
    [
      'more rules than a message lists',
      [...months(...Array.from({ length: 12 }, (_, index) => `P${2 ** index}D`)), dropForever],
      [],
      'Datasource [preview]: rules [0], [1], [2], [3], [4], [5], [6], [7], [8], [9], and 2 more rules together keep only [P2048D] of data, not [P4095D], because all periods are counted back from now',
    ],
    ['older data is loaded', months('P1M', 'P3M'), [], undefined],
    [
      'older data is dropped only later',
      [...months('P1M', 'P3M'), { type: 'dropBeforeByPeriod', period: 'P6M' }],
      [],
      undefined,
    ],
    ['one period', [...months('P1M'), dropForever], [], undefined],
    ['a period extends the one before', [...months('P100D', 'P109D'), dropForever], [], undefined],
    [
      'one of three periods extends the one before',
      [...months('P7D', 'P1Y', 'P13M'), dropForever],
      [],
      undefined,
    ],
    [
      'a period is a third longer than the one before',
      [...months('P3M', 'P4M'), dropForever],
      [],
      'Datasource [preview]: rules [0] and [1] together keep only [P4M] of data, not [P7M], because both periods are counted back from now',
    ],
    ['the same period twice', [...months('P1M', 'P1M'), dropForever], [], undefined],
    ['rules that are never reached', [load({ hot: 1 }), ...months('P1M', 'P3M'), dropForever], [], undefined],
  ]
  for (const [name, rules, defaultRules, message] of addedPeriods) {
    test(`report periods that do not add up: ${name}`, () => {
      const request = { rules, segments, servers, ...(defaultRules.length > 0 ? { defaultRules } : {}) }
      const found = previewGiven(request).result.warnings.filter(({ type }) => type === 'periodsDoNotAddUp')
      assert.deepEqual(
        found.map((warning) => warning.message),
        message === undefined ? [] : [message],
      )
    })
  }

  test('report periods that do not add up in a list by itself', () => {
    const rules = parseRules([...months('P1M', 'P3M'), dropForever])
    const ofList = (name: string) =>
      finish(warningsOfList(name, rules, testNow)).map(({ message }) => message)
    assert.deepEqual(ofList('wiki'), [
      'Datasource [wiki]: rules [0] and [1] together keep only [P3M] of data, not [P4M], because both periods are counted back from now',
    ])
    assert.deepEqual(ofList('_default'), [
      'Datasource [_default]: default rules [0] and [1] together keep only [P3M] of data, not [P4M], because both periods are counted back from now',
    ])
  })

  test('suggest a tier that differs by a letter', () => {
    const [warning] = previewGiven({ rules: [load({ hott: 1 })], segments, servers }).result.warnings
    assert.deepEqual(warning, {
      type: 'tierWithoutServers',
      dataSource: 'preview',
      tier: 'hott',
      rule: { index: 0, type: 'loadForever', source: 'datasource' },
      similarTier: 'hot',
      message:
        'Datasource [preview]: rule [0] [loadForever] requires 1 replica in tier [hott], which has no servers, so no replicas are loaded there (did you mean [hot]?)',
    })
  })

  test('suggest a tier even if no data needs the rule now', () => {
    const old = [{ interval: '2020-01-01/2020-01-02' }]
    const recent = { type: 'loadByPeriod', period: 'P7D', tieredReplicants: { hott: 1 } }
    const list = [recent, load({ hot: 1 })]
    const suggestionsOf = (request: object) =>
      previewGiven({ segments: old, servers, ...request } as never).result.warnings.map(
        (warning) =>
          'similarTier' in warning && [warning.dataSource, warning.rule.source, warning.similarTier],
      )
    assert.deepEqual(suggestionsOf({ rules: list }), [['preview', 'datasource', 'hot']])
    assert.deepEqual(suggestionsOf({ rules: [], defaultRules: list }), [['_default', 'default', 'hot']])
  })

  test('distinguish tiers without servers from tiers with decommissioning servers', () => {
    const twoServers = ['h1', 'h2'].map((name) => ({ name, type: 'historical', tier: 'hot', maxSize: 1e12 }))
    const messagesFor = (replicas: number, leaving: readonly string[]) =>
      previewGiven(
        { rules: [load({ hot: replicas })], segments, servers: twoServers },
        leaving,
      ).result.warnings.map(({ message }) => message)
    assert.deepEqual(messagesFor(1, ['h1', 'h2']), [
      'Datasource [preview]: rule [0] [loadForever] requires 1 replica in tier [hot], whose servers are all decommissioning, so no replicas are loaded there',
    ])
    assert.deepEqual(messagesFor(2, ['h1']), [
      'Datasource [preview]: rule [0] [loadForever] requires 2 replicas in tier [hot], but that tier has only 1 server that is not decommissioning, and each server loads at most one replica',
    ])
  })

  test('report default rules if they apply or change', () => {
    const request = { rules: [], defaultRules: [load({ cold: 1 }), load({ none: 1 })], segments, servers }
    const warnings = previewGiven(request).result.warnings
    assert.deepEqual(
      warnings.map((warning) => [warning.type, 'rule' in warning ? warning.rule : undefined]),
      [
        ['ruleNeverReached', { index: 1, type: 'loadForever', source: 'default' }],
        ['tierWithoutServers', { index: 0, type: 'loadForever', source: 'default' }],
      ],
    )
  })
})

test('treats segments that differ in only one part of their id as different', () => {
  const interval = day(0)
  const segments = [
    { interval },
    { interval: day(1) },
    { interval, dataSource: 'x' },
    { interval, version: 'v', partitionNum: 1 },
    { interval, version: 'v_1' },
    { interval, partitionNum: 1 },
    { interval: formatInterval(eternity) },
  ]
  assert.equal(
    finish(parsePreviewRequest({ rules: [], segments }, testNow)).segments!.length,
    segments.length,
  )
})

test('accepts the maximum time of a cluster clock, with a horizon of ten years', () => {
  const request = { rules: [], now: '9999-12-31T23:59:59.999Z', horizon: 'P10Y' }
  assert.equal(finish(parsePreviewRequest(request, testNow)).now, lastTime)
})

describe('an invalid request fails with its field', () => {
  const rule = { type: 'loadForever' }
  const [eternityStart, eternityEnd] = formatInterval(eternity).split('/')
  const cases: [request: unknown, field: string, message: RegExp][] = [
    [[], 'body', /an object with rules/],
    [{}, 'rules', /Missing value for \[rules\]/],
    [{ rules: 'x' }, 'rules', /\[x\]/],
    [
      { rules: Array(100_000).fill(rule) },
      'rules',
      /^Too many rules \[100000\] in \[rules\]: expected at most 10000/,
    ],
    [
      { rules: { a: Array(6000).fill(rule), b: Array(6000).fill(rule) } },
      'rules',
      /^Too many rules \[12000\] .* across all lists$/,
    ],
    [{ rules: { a: [{ type: 'x' }] } }, 'rules.a[0].type', /\[x\]/],
    [{ rules: { '': [] } }, 'rules', /a non-blank datasource name of 1 to 255/],
    [{ rules: [], horizon: 'P10000Y' }, 'horizon', /\[P10000Y\].*at most ten years/],
    [{ rules: [], horizon: 'P10YT0.001S' }, 'horizon', /at most ten years/],
    [{ rules: [], horizon: 5 }, 'horizon', /\[5\]/],
    [{ rules: [], servers: [{ name: 'a', type: 'historical' }] }, 'servers[0].tier', /^Missing value/],
    [{ rules: [], servers: [server('a'), server('a')] }, 'servers[1].name', /a unique server name/],
    [{ rules: [], servers: [server('a', 'x', { type: 'router' })] }, 'servers[0].type', /historical, broker/],
    [{ rules: [], servers: [server('a', 'x', { maxSize: -1 })] }, 'servers[0].maxSize', /\[-1\]/],
    [{ rules: [], segments: [{ interval: day(0), size: -1 }] }, 'segments[0].size', /\[-1\]/],
    [{ rules: [], segments: [{ interval: day(0), size: 0.5 }] }, 'segments[0].size', /\[0.5\]/],
    [{ rules: [], segments: [{}] }, 'segments[0].interval', /^Missing value/],
    [{ rules: [], segments: [{ interval: 'today' }] }, 'segments[0].interval', /\[today\]/],
    [{ rules: [], segments: [{ interval: day(0), colour: 1 }] }, 'segments[0].colour', /Unknown field/],
    [
      { rules: [], segments: [{ interval: '2026-01-01/2026-01-01' }] },
      'segments[0].interval',
      /a non-empty interval/,
    ],
    [
      {
        rules: [],
        segments: [
          { interval: '2026-01-01/P1D' },
          { interval: day(0) },
          { interval: '2026-01-01/2026-01-02', size: 5, partitions: 2 },
        ],
      },
      'segments[2]',
      /or \[partitionNum\] than in \[segments\[0\]\]/,
    ],
    [{ rules: [], segments: [null] }, 'segments[0]', /\[null\]/],
    [{ rules: [], segments: {} }, 'segments', /a list/],
    [{ rules: [], now: 'soon' }, 'now', /\[soon\]/],
    [{ rules: [], now: 5 }, 'now', /\[5\]/],
    [{ rules: [], now: '+010000-01-01' }, 'now', /\[\+010000-01-01\].*up to \[9999-12-31T23:59:59.999Z\]/],
    [{ rules: [], now: eternityStart }, 'now', /\[-146136543-/],
    [{ rules: [], now: eternityEnd }, 'now', /\[146140482-/],
    [{ rules: { _default: [rule] }, defaultRules: [rule] }, 'defaultRules', /no value if/],
    [{ rules: { _default: [] } }, 'rules._default', /Invalid value \[\[\]\].*at least one rule/],
    [{ rules: {}, defaultRules: [] }, 'defaultRules', /Invalid value \[\[\]\].*at least one rule/],
    [{ rules: [], colour: 1 }, 'colour', /Unknown field/],
  ]
  for (const [request, field, message] of cases) {
    test(`${field}: ${message}`, () => {
      assert.throws(
        () => finish(parsePreviewRequest(request, testNow)),
        (failure: { code?: string; message: string; context: { field?: string } }) => {
          assert.equal(failure.code, 'invalidInput', failure.message)
          assert.match(failure.message, message)
          assert.equal(failure.context.field, field)
          return true
        },
      )
    })
  }
})
