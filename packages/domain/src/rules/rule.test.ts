import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  defaultRule,
  effectiveRules,
  formatRule,
  maxRules,
  parseRules,
  parseRulesInSlices,
  regionTypeOf,
  rulesTextInSlices,
  ruleTypes,
} from './index.ts'

const twoCopies = '{"_default_tier":2}'
const january = '2026-01-01T00:00:00.000Z/2026-02-01T00:00:00.000Z'

// Posted rules, and the JSON that is stored.
for (const { given, kept } of [
  {
    given: { type: 'loadForever' },
    kept: `{"tieredReplicants":${twoCopies},"useDefaultTierForNull":true,"type":"loadForever"}`,
  },
  {
    given: { type: 'loadByPeriod', period: 'P1M' },
    kept: `{"period":"P1M","includeFuture":true,"tieredReplicants":${twoCopies},"useDefaultTierForNull":true,"type":"loadByPeriod"}`,
  },
  {
    given: { type: 'loadByInterval', interval: '2026-01-01/P1M' },
    kept: `{"interval":"${january}","tieredReplicants":${twoCopies},"useDefaultTierForNull":true,"type":"loadByInterval"}`,
  },
  {
    given: { type: 'dropByPeriod', period: 'P1M', includeFuture: false },
    kept: '{"period":"P1M","includeFuture":false,"type":"dropByPeriod"}',
  },
  {
    given: { type: 'dropBeforeByPeriod', period: 'P1M' },
    kept: '{"period":"P1M","type":"dropBeforeByPeriod"}',
  },
  {
    given: { type: 'dropByInterval', interval: '2026-01-01/2026-02-01' },
    kept: `{"interval":"${january}","type":"dropByInterval"}`,
  },
  { given: { type: 'dropForever' }, kept: '{"type":"dropForever"}' },
  { given: { type: 'broadcastForever' }, kept: '{"type":"broadcastForever"}' },
  {
    given: { type: 'broadcastByPeriod', period: 'P7D', includeFuture: null },
    kept: '{"period":"P7D","includeFuture":true,"type":"broadcastByPeriod"}',
  },
  {
    given: { type: 'broadcastByInterval', interval: january },
    kept: `{"interval":"${january}","type":"broadcastByInterval"}`,
  },
  {
    given: { type: 'loadForever', tieredReplicants: null },
    kept: `{"tieredReplicants":${twoCopies},"useDefaultTierForNull":true,"type":"loadForever"}`,
  },
  {
    given: { type: 'loadForever', useDefaultTierForNull: false },
    kept: '{"tieredReplicants":{},"useDefaultTierForNull":false,"type":"loadForever"}',
  },
  {
    given: { type: 'loadForever', tieredReplicants: {} },
    kept: '{"tieredReplicants":{},"useDefaultTierForNull":true,"type":"loadForever"}',
  },
  {
    given: { type: 'loadForever', tieredReplicants: { _default_tier: 0, hot: 3, constructor: 1 } },
    kept: '{"tieredReplicants":{"_default_tier":0,"hot":3,"constructor":1},"useDefaultTierForNull":true,"type":"loadForever"}',
  },
]) {
  test(`stores ${JSON.stringify(given)} with its defaults`, () => {
    const [rule] = parseRules([given])
    assert.equal(JSON.stringify(formatRule(rule!)), kept)
    assert.deepEqual(parseRules([formatRule(rule!)]), [rule])
  })
}

const anInteger = 'an integer from 0 to 2147483647'
const aPeriod = 'a non-negative ISO 8601 period such as [P1M], [P7D], or [PT12H]'
const aTierName = 'a tier name of 1 to 255 characters without control characters'

// Messages for the third rule of a list.
for (const { given, message } of [
  {
    given: null,
    message: 'Invalid value [null] for [rules[2]]: expected a rule (an object with the field [type])',
  },
  {
    given: [],
    message: 'Invalid value [[]] for [rules[2]]: expected a rule (an object with the field [type])',
  },
  { given: {}, message: `Missing value for [rules[2].type]: expected one of [${ruleTypes.join(', ')}]` },
  {
    given: { type: 'loadSometimes' },
    message: `Invalid value [loadSometimes] for [rules[2].type]: expected one of [${ruleTypes.join(', ')}]`,
  },
  {
    given: { type: 'constructor' },
    message: `Invalid value [constructor] for [rules[2].type]: expected one of [${ruleTypes.join(', ')}]`,
  },
  {
    given: { type: ['loadForever'] },
    message: `Invalid value [["loadForever"]] for [rules[2].type]: expected one of [${ruleTypes.join(', ')}]`,
  },
  {
    given: { type: 'dropForever', colour: 'red' },
    message: 'Unknown field [rules[2].colour] with value [red]: expected one of [type]',
  },
  {
    given: { type: 'dropBeforeByPeriod', period: 'P1M', includeFuture: true },
    message: 'Unknown field [rules[2].includeFuture] with value [true]: expected one of [period, type]',
  },
  {
    given: { type: 'loadByPeriod' },
    message: 'Missing value for [rules[2].period]: expected an ISO 8601 period such as [P1M]',
  },
  {
    given: { type: 'loadByPeriod', period: null },
    message: 'Invalid value [null] for [rules[2].period]: expected an ISO 8601 period such as [P1M]',
  },
  {
    given: { type: 'loadByPeriod', period: 7 },
    message: 'Invalid value [7] for [rules[2].period]: expected an ISO 8601 period such as [P1M]',
  },
  {
    given: { type: 'loadByPeriod', period: '1 month' },
    message: `Invalid value [1 month] for [rules[2].period]: expected ${aPeriod}`,
  },
  {
    given: { type: 'dropByInterval' },
    message:
      'Missing value for [rules[2].interval]: expected an ISO 8601 interval such as [2026-01-01/2026-02-01]',
  },
  {
    given: { type: 'dropByPeriod', period: 'P1M', includeFuture: 'yes' },
    message: 'Invalid value [yes] for [rules[2].includeFuture]: expected true or false',
  },
  {
    given: { type: 'loadForever', useDefaultTierForNull: 0 },
    message: 'Invalid value [0] for [rules[2].useDefaultTierForNull]: expected true or false',
  },
  {
    given: { type: 'loadForever', tieredReplicants: [] },
    message:
      'Invalid value [[]] for [rules[2].tieredReplicants]: expected an object that maps tier names to numbers of replicas',
  },
  {
    given: { type: 'loadForever', tieredReplicants: 2 },
    message:
      'Invalid value [2] for [rules[2].tieredReplicants]: expected an object that maps tier names to numbers of replicas',
  },
  ...[-1, 1.5, null, '2', 2 ** 31, true, {}].map((count) => ({
    given: { type: 'loadForever', tieredReplicants: { hot: count } },
    message: `Invalid value [${typeof count === 'string' ? count : JSON.stringify(count)}] for [rules[2].tieredReplicants.hot]: expected ${anInteger}`,
  })),
  {
    given: { type: 'loadForever', tieredReplicants: { ' ': 1 } },
    message: `Invalid value [ ] for [rules[2].tieredReplicants]: expected ${aTierName}`,
  },
  {
    given: { type: 'loadForever', tieredReplicants: JSON.parse('{"__proto__":1}') },
    message: `Invalid value [__proto__] for [rules[2].tieredReplicants]: expected ${aTierName}`,
  },
  ...[
    ['hot\0', 'hot\\u0000'],
    ['ho\u0085t', 'ho\\u0085t'],
    ['hot\ud83d', 'hot\\ud83d'],
  ].map(([tier = '', shown]) => ({
    given: { type: 'loadForever', tieredReplicants: { [tier]: 1 } },
    message: `Invalid value [${shown}] for [rules[2].tieredReplicants]: expected ${aTierName}`,
  })),
  {
    given: { type: 'loadForever', tieredReplicants: { ['x'.repeat(256)]: 1 } },
    message: `Invalid value [${'x'.repeat(120)}…] for [rules[2].tieredReplicants]: expected ${aTierName}`,
  },
]) {
  test(`fails with: ${message.slice(0, 90)}`, () => {
    assert.throws(() => parseRules([{ type: 'loadForever' }, { type: 'dropForever' }, given]), {
      code: 'invalidInput',
      message,
    })
  })
}

for (const { given, message } of [
  {
    given: { type: 'loadForever' },
    message: 'Invalid value [{"type":"loadForever"}] for [rules]: expected a list of rules',
  },
  { given: null, message: 'Invalid value [null] for [rules]: expected a list of rules' },
  { given: undefined, message: 'Missing value for [rules]: expected a list of rules' },
  {
    given: new Array(maxRules + 1).fill({ type: 'dropForever' }),
    message: 'Too many rules [10001] in [rules]: expected at most 10000',
  },
]) {
  test(`fails with: ${message}`, () =>
    assert.throws(() => parseRules(given), { code: 'invalidInput', message }))
}

test('allows at most 150,000 tiers in a rule', () => {
  const rule = (count: number) => ({
    type: 'loadForever',
    tieredReplicants: Object.fromEntries(Array.from({ length: count }, (_, index) => [`t${index}`, 1])),
  })
  assert.equal(parseRules([rule(150_000)]).length, 1)
  assert.throws(() => parseRules([rule(150_001)]), {
    message: /^Too many tiers \[150001\] in \[rules\[0\]\.tieredReplicants\]: expected at most 150000/,
  })
})

test('rejects an own property named [__proto__]', () => {
  assert.throws(() => parseRules([JSON.parse('{"type":"dropForever","__proto__":{}}')]), {
    message: 'Unknown field [rules[0].__proto__] with value [{}]: expected one of [type]',
  })
})

test('fails only with invalidInput, for any JSON', () => {
  const names = [
    'type',
    'period',
    'interval',
    'includeFuture',
    'tieredReplicants',
    'useDefaultTierForNull',
    '__proto__',
  ]
  const values = fc.oneof(
    fc.constantFrom(...ruleTypes, 'P1M', '2026-01-01/P1D', true, null, 1),
    fc.jsonValue(),
  )
  const rules = fc.array(fc.dictionary(fc.constantFrom(...names), values))
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), rules), (json) => {
      try {
        const parsed = parseRules(json)
        assert.deepEqual(parseRules(parsed.map(formatRule)), parsed)
      } catch (error) {
        assert.equal((error as { code?: string }).code, 'invalidInput')
      }
    }),
    { numRuns: 1000 },
  )
})

test('appends the cluster defaults and the rule that loads everything to the rules of a datasource', () => {
  const [own, clusterDefault] = parseRules([{ type: 'dropByPeriod', period: 'P1D' }, { type: 'dropForever' }])
  assert.deepEqual(effectiveRules([own!], [clusterDefault!]), [own, clusterDefault, defaultRule])
})

test('pairs the rule types that apply to the same segments', () => {
  assert.deepEqual(
    ruleTypes.map((type) => [type, regionTypeOf(type)]).filter(([type, other]) => type !== other),
    [
      ['dropForever', 'loadForever'],
      ['broadcastForever', 'loadForever'],
      ['broadcastByPeriod', 'loadByPeriod'],
      ['broadcastByInterval', 'loadByInterval'],
    ],
  )
})

/** Returns the result of a calculation, and the number of its pauses. */
function withPauses<Result>(steps: Generator<undefined, Result>): { result: Result; pauses: number } {
  for (let pauses = 0; ; pauses += 1) {
    const step = steps.next()
    if (step.done) return { result: step.value, pauses }
  }
}

for (const { what, rules, pauses } of [
  { what: 'no rules', rules: [], pauses: 0 },
  { what: 'a few rules', rules: [{ type: 'dropForever' }, { type: 'loadForever' }], pauses: 0 },
  {
    what: 'many rules',
    rules: Array.from({ length: 9500 }, () => ({ type: 'loadByPeriod', period: 'P1D' })),
    pauses: 95,
  },
  {
    what: 'rules with many tiers',
    rules: Array.from({ length: 400 }, () => ({
      type: 'loadForever',
      tieredReplicants: Object.fromEntries(Array.from({ length: 150 }, (_, tier) => [`t${tier}`, 1])),
    })),
    pauses: 200,
  },
]) {
  test(`reads and formats ${what} with [${pauses}] pauses`, () => {
    const read = withPauses(parseRulesInSlices(rules))
    assert.equal(read.pauses, pauses)
    const text = JSON.stringify(read.result.map(formatRule))
    assert.deepEqual(withPauses(rulesTextInSlices(read.result)), { result: text, pauses })
  })
}
