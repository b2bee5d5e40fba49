import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { longRuleLists } from '../testing/index.ts'
import {
  compileRules,
  isInRegion,
  matchRule,
  parseRules,
  RegionFinder,
  RuleBoundaries,
  type RuleRegion,
  regionOf,
} from './index.ts'

const now = Date.UTC(2026, 5, 15)
const day = 86_400_000

const number = fc.integer({ min: -5, max: 5 })
const bound = fc.oneof(fc.constantFrom(-Infinity, Infinity), number)
const segment = fc.tuple(fc.oneof(fc.constant(-Infinity), number), fc.oneof(fc.constant(Infinity), number))
const region: fc.Arbitrary<RuleRegion> = fc.oneof(
  fc.record({
    startFrom: fc.constant(-Infinity),
    startBefore: bound,
    endAfter: bound,
    endUpTo: fc.constant(Infinity),
  }),
  fc.record({
    startFrom: bound,
    startBefore: fc.constantFrom(0, Infinity),
    endAfter: fc.constant(-Infinity),
    endUpTo: bound,
  }),
)

describe('finding the first region', () => {
  test('returns the same region as a linear scan', () => {
    fc.assert(
      fc.property(
        fc.array(region, { maxLength: 40 }),
        fc.array(segment, { minLength: 60, maxLength: 60 }),
        fc.array(fc.tuple(region, fc.nat(40)), { minLength: 40, maxLength: 40 }),
        (regions, segments, others) => {
          const finder = new RegionFinder(regions)
          for (const [start, end] of segments) {
            assert.equal(
              finder.firstHolding(start, end),
              regions.findIndex((one) => isInRegion(one, start, end)),
            )
          }
          for (const [inner, from] of others) {
            assert.equal(
              finder.firstCovering(inner, from),
              regions.findIndex(
                (outer, index) =>
                  index >= from &&
                  outer.startFrom <= inner.startFrom &&
                  outer.startBefore >= inner.startBefore &&
                  outer.endAfter <= inner.endAfter &&
                  outer.endUpTo >= inner.endUpTo,
              ),
            )
          }
        },
      ),
      { numRuns: 300 },
    )
  })

  for (const [name, rulesOf] of Object.entries(longRuleLists)) {
    test(`needs few comparisons in a list of 10,000 rules: ${name}`, () => {
      const count = 10_000
      let reads = 0
      const counting: ProxyHandler<RuleRegion> = {
        get: (region, bound) => {
          reads += 1
          return Reflect.get(region, bound)
        },
      }
      const counted = parseRules(rulesOf(count)).map((rule) => new Proxy(regionOf(rule, now), counting))
      const finder = new RegionFinder(counted)
      // No such segment exists, and only rules without bounds contain it, so a linear scan would read the entire list.
      for (let search = 0; search < count; search += 1) finder.firstHolding(9e15 - search, -9e15 + search)
      assert.ok(reads < 200 * count, `read ${reads} bounds`)
    })

    test(`finds the same rule as matching rules one by one: ${name}`, () => {
      const rules = parseRules(rulesOf(300))
      const compiled = compileRules(rules, now)
      const boundaries = new RuleBoundaries(rules, [], now)
      for (let search = 0; search < 600; search += 1) {
        const start = Date.UTC(2020, 0, 1) + (search - 700) * day * 1.5
        const interval = { start, end: start + (1 + (search % 40)) * day }
        const expected = matchRule(compiled, interval)
        assert.equal(boundaries.match(interval), expected < 0 ? rules.length : expected)
      }
    })
  }
})
