import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { PlacementPlanner } from '../loading/index.ts'
import { defaultRule, parseRules } from '../rules/index.ts'
import { finish } from '../steps/index.ts'
import { periodOf } from '../time/index.ts'
import { Course, type PreviewStep } from './course.ts'
import { decideUnplaced } from './decide-outcome.ts'
import { type LossName, lossNames } from './effect-names.ts'
import { foresee, stepTimes } from './future-steps.ts'
import type { PreviewSegments, PreviewServer } from './index.ts'
import type { FirstLosses, LossesAt } from './later-losses.ts'
import { decidePreview, type PreviewQuestion } from './preview.ts'
import { SimulatedSteps } from './simulated-steps.ts'
import { testNow, testServer } from './test-preview.ts'

const hourMs = 3_600_000

/** A segment of one hour, with its age at its end in hours. */
interface AgedSegment {
  readonly ageHours: number
  readonly sizeBytes: number
}

const segmentsOf = (aged: readonly AgedSegment[]): PreviewSegments => ({
  dataSource: 'wiki',
  count: aged.length,
  start: (index) => testNow - (aged[index]!.ageHours + 1) * hourMs,
  end: (index) => testNow - aged[index]!.ageHours * hourMs,
  sizeBytes: (index) => aged[index]!.sizeBytes,
  version: () => 'v1',
  partitionNum: (index) => index,
  isOvershadowed: () => false,
  forEachCopy: () => undefined,
})

interface Given {
  readonly aged: readonly AgedSegment[]
  readonly rules: readonly object[]
  readonly servers: readonly PreviewServer[]
  readonly horizon: string
}

const questionOf = ({ aged, rules, servers, horizon }: Given): PreviewQuestion => ({
  now: testNow,
  datasources: [
    { segments: segmentsOf(aged), columns: undefined, own: parseRules(rules), defaults: [defaultRule] },
  ],
  servers,
  serversBefore: [],
  concerned: new Set(['wiki']),
  knownDatasources: [],
  defaultsChange: false,
  horizon: periodOf(horizon)!,
})

const momentsOf = ({ horizon }: Given): number[] => stepTimes(testNow, periodOf(horizon)!)

/** Returns the course of a cluster at the time of its preview. */
function courseOf(given: Given): Course {
  const { concerned, ...question } = questionOf(given)
  const unplaced = finish(decideUnplaced(question))
  const foreseen = finish(foresee(unplaced, { concerned, moments: momentsOf(given), assumesSpace: false }))
  return new Course(unplaced, {
    concerned,
    simulated: foreseen instanceof SimulatedSteps ? foreseen : undefined,
  })
}

const shown = ({ now, datasources, tiers, losses }: PreviewStep) => ({
  now,
  datasources,
  tiers,
  losses: lossNames.map((name) => ({ ...losses.of(name) })),
})

const isLossName = (name: string): name is LossName => (lossNames as readonly string[]).includes(name)

const anyAged = fc.array(
  fc.record({ ageHours: fc.integer({ min: -20, max: 300 }), sizeBytes: fc.constantFrom(1, 1, 2, 5) }),
  { minLength: 1, maxLength: 25 },
)
const anyPeriod = fc.constantFrom('PT30H', 'P4D', 'P10D', 'P1M')
const tieredReplicants = fc.dictionary(fc.constantFrom('cold', 'hot', 'icy'), fc.nat(2))
const anyRules = fc.array(
  fc.oneof(
    fc.record({ type: fc.constant('loadByPeriod'), period: anyPeriod, tieredReplicants }),
    fc.record({ type: fc.constant('dropBeforeByPeriod'), period: anyPeriod }),
    fc.record({ type: fc.constant('loadForever'), tieredReplicants }),
  ),
  { maxLength: 4 },
)
const anyServers = fc
  .array(fc.record({ tier: fc.constantFrom('cold', 'hot'), maxSizeBytes: fc.integer({ min: 0, max: 30 }) }), {
    minLength: 1,
    maxLength: 5,
  })
  .map((list) => list.map(({ tier, maxSizeBytes }, number) => testServer(`${number}`, tier, maxSizeBytes)))
const anyHorizon = fc.constantFrom('P12D', 'P20D', 'P100D')
const anyGiven = fc.record({ aged: anyAged, rules: anyRules, servers: anyServers, horizon: anyHorizon })

test('a course that goes back continues as if it had never advanced', () => {
  const hours = fc.uniqueArray(fc.integer({ min: 1, max: 400 }), { minLength: 3, maxLength: 5 })
  const counts = { changed: 0, full: 0 }
  fc.assert(
    fc.property(anyGiven, hours, (given, unsorted) => {
      const [plain, tried] = [courseOf(given), courseOf(given)]
      const times = unsorted.toSorted((a, b) => a - b).map((hour) => testNow + hour * hourMs)
      let last = ''
      for (const [index, now] of times.entries()) {
        for (const other of times.slice(index)) {
          finish(tried.advance(other))
          finish(tried.back())
        }
        const step = shown(finish(plain.advance(now)))
        assert.deepEqual(shown(finish(tried.advance(now))), step)
        const tiers = JSON.stringify(step.tiers)
        if (last !== '' && tiers !== last) counts.changed += 1
        if (step.tiers.some(({ doesNotFit }) => doesNotFit.copies > 0)) counts.full += 1
        last = tiers
      }
    }),
    { numRuns: 300 },
  )
  assert.ok(counts.changed > 50 && counts.full > 50, JSON.stringify(counts))
})

describe('when losses begin', () => {
  /** Everything that may begin, by name, with whether it has at a time. */
  function lossesOf(
    first: FirstLosses,
  ): [name: string, isAtFirst: boolean, isIn: (step: LossesAt) => boolean][] {
    return [
      ...lossNames.map((name): [string, boolean, (step: LossesAt) => boolean] => {
        const { copies } = first.losses.of(name)
        return name === 'unqueryable'
          ? [name, false, ({ losses }) => losses.of('newlyUnqueryable').copies > 0]
          : [name, false, ({ losses }) => losses.of(name).copies > copies]
      }),
      ...first.tiers.map(({ tier, doesNotFit }, place): [string, boolean, (step: LossesAt) => boolean] => [
        tier,
        doesNotFit.copies > 0,
        ({ tiers }) => tiers[place]!.doesNotFit.copies > 0,
      ]),
    ]
  }

  /** Returns the full hours before a time, and that time. */
  function hoursUntil(from: number, to: number): number[] {
    const first = (Math.floor(from / hourMs) + 1) * hourMs
    const count = Math.max(0, Math.ceil((to - first) / hourMs))
    return [...Array.from({ length: count }, (_, hour) => first + hour * hourMs), to]
  }

  /** Checks the begins of a preview. `check` gets what is found, and the hours of the first step with the loss. */
  function checkBegins(
    given: Given,
    check: (found: number | undefined, hours: readonly { now: number; isIn: boolean }[]) => void,
  ): void {
    const { begins, steps = [], totalEffects, tiers } = finish(decidePreview(questionOf(given)))
    const first = { now: testNow, losses: totalEffects, tiers }
    const all = lossesOf(first).map(([name, isAtFirst, isIn]) => ({
      isAtFirst,
      isIn,
      step: isAtFirst ? -1 : steps.findIndex(isIn),
      found: isLossName(name)
        ? begins.ofLoss(name)
        : begins.inTier(tiers.findIndex(({ tier }) => tier === name)),
    }))
    const course = courseOf(given)
    const looks = steps.map(({ now }, index) => {
      const from = steps[index - 1]?.now ?? testNow
      const hours = all.some(({ step }) => step === index) ? hoursUntil(from, now) : []
      const ofHours = hours.map((hour) => {
        const look = finish(course.advance(hour))
        finish(course.back())
        return look
      })
      finish(course.advance(now))
      return ofHours
    })
    for (const { isAtFirst, isIn, step, found } of all) {
      if (isAtFirst) assert.equal(found, testNow)
      else if (step < 0) assert.equal(found, undefined)
      else
        check(
          found,
          looks[step]!.map((look) => ({ now: look.now, isIn: isIn(look) })),
        )
    }
  }

  test('is the first hour with them, if they only grow', () => {
    const aged = fc.array(
      fc.record({ ageHours: fc.integer({ min: -20, max: 800 }), sizeBytes: fc.constant(1) }),
      { minLength: 3, maxLength: 20 },
    )
    const replicants = fc.constantFrom({ hot: 1 }, { hot: 1, icy: 1 }, { hot: 2 })
    const later = fc.constantFrom<object[]>(
      [{ type: 'dropForever' }],
      [{ type: 'loadForever', tieredReplicants: { cold: 1 } }],
      [{ type: 'loadForever', tieredReplicants: { icy: 1 } }],
      [{ type: 'loadForever', tieredReplicants: {} }],
    )
    const rules = fc
      .tuple(anyPeriod, replicants, later)
      .map(([period, ofHot, others]) => [
        { type: 'loadByPeriod', period, tieredReplicants: ofHot },
        ...others,
      ])
    const servers = fc
      .integer({ min: 0, max: 8 })
      .map((bytes) => [
        testServer('a', 'hot', 100),
        testServer('b', 'hot', 100),
        testServer('c', 'cold', bytes),
      ])
    const given = fc.record({ aged, rules, servers, horizon: fc.constantFrom('P12D', 'P20D', 'P100D') })
    let begun = 0
    fc.assert(
      fc.property(given, (one) => {
        checkBegins(one, (found, hours) => {
          assert.equal(found, hours.find(({ isIn }) => isIn)!.now)
          begun += 1
        })
      }),
      { numRuns: 40 },
    )
    assert.ok(begun > 20, String(begun))
  })

  test('is an hour with them, after an hour without them', () => {
    // With different sizes, what fits may depend on when the coordinator has run before.
    const equalSizes = anyGiven.map((given) => ({
      ...given,
      aged: given.aged.map((segment) => ({ ...segment, sizeBytes: 1 })),
    }))
    let begun = 0
    fc.assert(
      fc.property(equalSizes, (given) => {
        checkBegins(given, (found, hours) => {
          const at = hours.findIndex(({ now }) => now === found)
          assert.equal(hours[at]?.isIn, true)
          if (at > 0) assert.equal(hours[at - 1]!.isIn, false)
          begun += 1
        })
      }),
      { numRuns: 60 },
    )
    assert.ok(begun > 10, String(begun))
  })

  test('is found with at most a dozen runs for each of many tiers that fill at different times', (context) => {
    const tiers = 30
    const given: Given = {
      // They move from tier to tier.
      aged: Array.from({ length: 100 }, (_, index) => ({ ageHours: 12 * index, sizeBytes: 1 })),
      rules: Array.from({ length: tiers }, (_, tier) => ({
        type: 'loadByPeriod',
        period: `P${100 * (tier + 1)}D`,
        tieredReplicants: { [`tier${tier}`]: 1 },
      })),
      servers: Array.from({ length: tiers }, (_, tier) =>
        testServer(`${tier}`, `tier${tier}`, tier === 0 ? 100 : 30 + tier),
      ),
      horizon: 'P10Y',
    }
    const advance = context.mock.method(Course.prototype, 'advance')
    const { begins, steps } = finish(decidePreview(questionOf(given)))
    const full = Array.from({ length: tiers }, (_, tier) => begins.inTier(tier) ?? [])
    assert.ok(new Set(full.flat()).size > 20, JSON.stringify(full))
    const maxRuns = 2 * steps!.length + 12 * (full.flat().length + lossNames.length)
    assert.ok(advance.mock.callCount() <= maxRuns, `${advance.mock.callCount()} runs`)
  })
})

test('segments that wait for space are planned again only while there may be room', (context) => {
  const given: Given = {
    // A quarter of those that move to the cold tier fit there. Each day, it drops some, and loads others.
    aged: Array.from({ length: 960 }, (_, index) => ({ ageHours: index, sizeBytes: 1 })),
    rules: [
      { type: 'loadByPeriod', period: 'P10D', tieredReplicants: { hot: 1 } },
      { type: 'loadByPeriod', period: 'P40D', tieredReplicants: { cold: 1 } },
      { type: 'loadForever', tieredReplicants: {} },
    ],
    servers: [testServer('a', 'hot', 1000), testServer('b', 'cold', 180)],
    horizon: 'P30D',
  }
  const plan = context.mock.method(PlacementPlanner.prototype, 'planSegment')
  const { steps } = finish(decidePreview(questionOf(given)))
  assert.ok(steps!.some(({ tiers }) => tiers[0]!.doesNotFit.copies > 400))
  const calls = plan.mock.callCount()
  assert.ok(calls < 5 * given.aged.length, `${calls} plans of ${given.aged.length} segments`)
})
