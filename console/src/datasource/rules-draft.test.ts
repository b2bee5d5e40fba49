import assert from 'node:assert/strict'
import { test } from 'node:test'
import { afterStep, noDraft, type RulesDraftState, type RulesStep, unsavedDraft } from './rules-draft.ts'

const load = (period: string) => ({ type: 'loadByPeriod', period })
const [a, b, c] = [load('P1D'), load('P2D'), load('P3D')]
const stored = [a, b]

const after = (steps: readonly RulesStep[], base = stored): RulesDraftState =>
  steps.reduce((state, step) => afterStep(state, step, base), noDraft)
const periodsOf = (state: RulesDraftState) => unsavedDraft(state)?.rules.map(({ rule }) => rule.period)

for (const { name, steps, periods } of [
  { name: 'change', steps: [{ kind: 'change', key: 1, rule: c }], periods: ['P1D', 'P3D'] },
  { name: 'add', steps: [{ kind: 'add', rule: c }], periods: ['P3D', 'P1D', 'P2D'] },
  { name: 'remove', steps: [{ kind: 'remove', key: 0 }], periods: ['P2D'] },
  { name: 'move', steps: [{ kind: 'move', key: 0, place: 1 }], periods: ['P2D', 'P1D'] },
  { name: 'replace', steps: [{ kind: 'replace', list: [c] }], periods: ['P3D'] },
  { name: 'discard', steps: [{ kind: 'remove', key: 0 }, { kind: 'discard' }], periods: undefined },
  {
    name: 'restore',
    steps: [{ kind: 'remove', key: 0 }, { kind: 'discard' }, { kind: 'restore' }],
    periods: ['P2D'],
  },
  { name: 'stored', steps: [{ kind: 'remove', key: 0 }, { kind: 'stored' }], periods: undefined },
  {
    name: 'a change back',
    steps: [
      { kind: 'change', key: 0, rule: c },
      { kind: 'change', key: 0, rule: load('P1D') },
    ],
    periods: undefined,
  },
] as const)
  test(`has the rules after a step: ${name}`, () => {
    assert.deepEqual(periodsOf(after(steps)), periods)
  })

test('starts from newer stored rules if the edit changes nothing, and keeps the comment', () => {
  const unchanged = after([
    { kind: 'note', note: { author: '', comment: 'why' } },
    { kind: 'move', key: 0, place: 0 },
  ])
  const next = afterStep(unchanged, { kind: 'add', rule: a }, [c])
  assert.deepEqual(periodsOf(next), ['P1D', 'P3D'])
  assert.equal(next.draft?.comment, 'why')
})

test('keeps the edit that a link, a plan, or an earlier list replaces', () => {
  const replaced = after([
    { kind: 'remove', key: 0 },
    { kind: 'replace', list: [c] },
    { kind: 'discard' },
    { kind: 'restore' },
  ])
  assert.deepEqual(periodsOf(replaced), ['P3D'])
  assert.deepEqual(
    after([
      { kind: 'remove', key: 0 },
      { kind: 'replace', list: [c] },
    ]).discarded?.rules.map(({ rule }) => rule),
    [b],
  )
})

test('compares a kept edit with the rules that are stored now', () => {
  const edited = after([{ kind: 'change', key: 1, rule: c }])
  const kept = afterStep(edited, { kind: 'rebase' }, [load('P9D'), b])
  assert.deepEqual(
    kept.draft?.rules.map(({ rule, original }) => [rule.period, original?.period]),
    [
      ['P1D', 'P9D'],
      ['P3D', 'P2D'],
    ],
  )
})
