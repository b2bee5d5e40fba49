import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalJson } from '@svc/domain/json'
import { decideRequest, formatDecided, parsePreviewRequest } from '@svc/domain/preview'
import { parseRules } from '@svc/domain/rules'
import { finish } from '@svc/domain/steps'
import fc from 'fast-check'
import {
  type Change,
  digestsOf,
  grownLosses,
  keyOf,
  type LiveState,
  planOf,
  stateOfPlan,
} from '../declared-state/index.ts'
import type { AnsweredPreview, PreviewRules } from '../preview/index.ts'
import { effectsOf, lossesOf, previewBodyOf } from './index.ts'
import { stepsOf } from './safe-order.ts'

type Rules = Readonly<Record<string, readonly object[]>>

const now = Date.parse('2026-01-01T00:00:00Z')
const names = ['a', 'b', 'c']
// One segment of each of the last 40 days, served by the only server.
const segments = names.flatMap((dataSource) =>
  Array.from({ length: 40 }, (_, day) => {
    const [start, end] = [day + 1, day].map((before) => new Date(now - before * 86_400_000).toISOString())
    return { dataSource, interval: `${start}/${end}`, size: 1 }
  }),
)
const servers = [{ name: 'one', type: 'historical', tier: 'hot' }]

interface Row {
  readonly dataSource: string
  readonly interval: string
  readonly action: string
}

/** Previews other rules in a cluster with these rules. */
function answerOf(rules: Rules, body: object): AnsweredPreview & { readonly segments: readonly Row[] } {
  const stored = new Map(Object.entries(rules).map(([name, list]) => [name, parseRules(list)]))
  const cluster = { now, datasources: [], servers: [], rules: stored }
  const request = finish(parsePreviewRequest({ ...body, segments, servers }, now))
  const reader = { canRead: () => true, canReadTiers: true }
  const decided = finish(decideRequest(request, cluster, reader))
  return JSON.parse(
    JSON.stringify(finish(formatDecided(decided, { full: false, offset: 0, limit: 0 }))),
  ) as ReturnType<typeof answerOf>
}

/** The segments that rules drop. */
function droppedBy(rules: Rules): ReadonlySet<string> {
  const { _default: defaultRules, ...own } = rules
  const all = Object.fromEntries(names.map((name) => [name, own[name] ?? []]))
  return new Set(
    answerOf(rules, { rules: all, defaultRules })
      .segments.filter(({ action }) => action === 'drop')
      .map(({ dataSource, interval }) => `${dataSource} ${interval}`),
  )
}

const rule = fc.oneof(
  fc.record({
    type: fc.constantFrom('loadByPeriod', 'dropBeforeByPeriod', 'dropByPeriod'),
    period: fc.constantFrom('P5D', 'P20D', 'P30D'),
  }),
  fc.constantFrom({ type: 'loadForever' }, { type: 'dropForever' }),
)
const list = fc.array(rule, { maxLength: 2 })
const anyRules = fc.record({
  a: list,
  b: list,
  c: list,
  _default: fc.array(rule, { minLength: 1, maxLength: 2 }),
})

/** The changes from some rules to others. */
const changesOf = (before: Rules, after: Rules): Change[] =>
  Object.keys(after)
    .map((name): Change => {
      const [old, fresh] = [before[name], after[name]]
      return { kind: 'rules', path: ['rules', name], action: 'change', before: old, after: fresh }
    })
    .filter((change) => JSON.stringify(change.before) !== JSON.stringify(change.after))

test('between two phases, no rules drop data that neither the old nor the new rules drop', async () => {
  await fc.assert(
    fc.asyncProperty(anyRules, anyRules, async (before, after) => {
      const changes = changesOf(before, after)
      if (changes.length === 0) return
      const preview: PreviewRules = async (body) => answerOf(before, body)
      const answer = answerOf(before, previewBodyOf(changes)!)
      const steps = stepsOf(changes, await effectsOf(changes, answer, preview))
      const allowed = new Set([...droppedBy(before), ...droppedBy(after)])
      const present: Record<string, readonly object[]> = { ...before }
      for (const step of steps) {
        for (const { path, after: fresh } of step.changes) present[path[1]!] = fresh as readonly object[]
        const lost = [...droppedBy(present)].filter((segment) => !allowed.has(segment))
        assert.deepEqual(lost, [], `after ${step.phase}`)
      }
      assert.equal(canonicalJson(present), canonicalJson(after))
    }),
    { numRuns: 60 },
  )
})

test('killed after any change, and planned again each time, a plan ends with its rules and never loses more', async () => {
  await fc.assert(
    fc.asyncProperty(
      anyRules,
      anyRules,
      fc.infiniteStream(fc.nat({ max: 2 })),
      async (before, after, kills) => {
        const changes = changesOf(before, after)
        if (changes.length === 0) return
        const present: Record<string, readonly object[]> = { ...before }
        const live = (): LiveState => {
          const entries = new Map(Object.entries(present))
          return {
            sections: new Map([[keyOf(['rules']), { kind: 'rules', path: ['rules'], entries }]]),
            unseen: new Map(),
          }
        }
        const plan = planOf({
          cluster: 'http://router',
          createdAt: '2026-01-01T00:00:00.000Z',
          changes,
          losses: lossesOf(answerOf(before, previewBodyOf(changes)!)),
          read: digestsOf(live(), changes),
        })
        for (;;) {
          const { open, conflicts } = stateOfPlan(plan, live())
          assert.deepEqual(conflicts, [])
          if (open.length === 0) break
          const preview: PreviewRules = async (body) => answerOf(present, body)
          const answer = answerOf(present, previewBodyOf(open)!)
          assert.deepEqual(grownLosses(plan.losses, lossesOf(answer)), [])
          const steps = stepsOf(open, await effectsOf(open, answer, preview))
          const inOrder = steps.flatMap((step) => step.changes)
          for (const { path, after: fresh } of inOrder.slice(0, kills.next().value! + 1))
            present[path[1]!] = fresh as readonly object[]
        }
        assert.equal(canonicalJson(present), canonicalJson(after))
      },
    ),
    { numRuns: 60 },
  )
})
