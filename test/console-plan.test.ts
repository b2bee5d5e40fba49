// Plans of the console are plans of the command line, and the other way round.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keyOf, type LiveState, parsePlan, planOf, stateOfPlan } from '@svc/cli/declared-state'
import { planText } from '@svc/domain/saved-plan'
import { changedSincePlan, planOfEdit, rulesInPlan } from '../console/src/datasource/plan-file.ts'

const [loadForever, dropForever] = [{ type: 'loadForever' }, { type: 'dropForever' }]
const edit = {
  cluster: 'https://router',
  clusterId: 'one',
  createdAt: '2026-01-01T00:00:00.000Z',
  note: { author: 'Ada', comment: ' ticket\n4711 ' },
  dataSource: 'wiki.ä "x"',
  before: [loadForever],
  after: [dropForever],
  loss: { unqueryable: 1, unqueryableBytes: 100, unused: 2, unusedBytes: 200 },
  stored: { 'wiki.ä "x"': [loadForever], _default: [loadForever] },
}
const liveWith = (rules: Record<string, unknown>): LiveState => ({
  sections: new Map([
    [keyOf(['rules']), { kind: 'rules', path: ['rules'], entries: new Map(Object.entries(rules)) }],
  ]),
  unseen: new Map(),
})

test('the command line applies a plan that the console saved, as long as the rules have not changed', async () => {
  const plan = parsePlan(JSON.parse(planText(await planOfEdit(edit))), 'plan.json')
  assert.deepEqual([plan.clusterId, plan.losses], ['one', { [edit.dataSource]: edit.loss }])
  const { open, conflicts } = stateOfPlan(plan, liveWith(edit.stored))
  assert.deepEqual([open.length, conflicts], [1, []])
  const changed = liveWith({ ...edit.stored, _default: [dropForever] })
  assert.deepEqual(stateOfPlan(plan, changed).conflicts, ['rules._default'])
})

test('the command line uses the author and the comment that were written in the console', async () => {
  const text = planText(await planOfEdit(edit))
  const { author, comment } = parsePlan(JSON.parse(text), 'plan.json')
  assert.deepEqual([author, comment], ['Ada', 'ticket 4711'])
  assert.deepEqual((await rulesInPlan(text)).note, { author, comment })
})

test('the command line refuses a plan whose comment cannot be sent', () => {
  const plan = { cluster: 'x', createdAt: edit.createdAt, changes: [], losses: {}, read: {} }
  for (const comment of ['two\nlines', 'x'.repeat(1001)])
    assert.throws(
      () => parsePlan(planOf({ ...plan, comment }), 'plan.json'),
      /for \[comment\]: expected text of at most/,
    )
})

test('the console opens a plan that the command line saved, and refuses one that was edited', async () => {
  const plan = planOf({
    cluster: 'https://router',
    createdAt: '2026-01-01T00:00:00.000Z',
    changes: [
      {
        kind: 'coordinator',
        path: ['coordinator', 'maxSegmentsToMove'],
        action: 'change',
        before: 1,
        after: 2,
      },
      { kind: 'rules', path: ['rules', 'a'], action: 'remove', before: [loadForever] },
      { kind: 'rules', path: ['rules', 'b'], action: 'add', after: [dropForever] },
    ],
    losses: {},
    read: {},
  })
  const { changes } = await rulesInPlan(planText(plan))
  assert.deepEqual(
    [...changes],
    [
      ['a', { before: [loadForever], after: [] }],
      ['b', { before: [], after: [dropForever] }],
    ],
  )
  await assert.rejects(
    rulesInPlan(planText({ ...plan, cluster: 'https://other' })),
    /was edited or is damaged/,
  )
  for (const text of ['', '[]', 'null', '{"version":2}', '{"version":1}'])
    await assert.rejects(rulesInPlan(text), /not a plan/)
})

test('the console lists all datasources whose rules have changed since a plan was created', async () => {
  const { dataSource, stored } = edit
  const plan = await rulesInPlan(planText(await planOfEdit(edit)))
  const changedSince = (now: Record<string, object[]>, isComplete = true) =>
    changedSincePlan(plan, { rules: new Map(Object.entries(now)), isComplete })
  assert.deepEqual(await changedSince(stored), [])
  // The plan was applied.
  assert.deepEqual(await changedSince({ ...stored, [dataSource]: [dropForever] }), [])
  assert.deepEqual(await changedSince({ ...stored, [dataSource]: [] }), [dataSource])
  assert.deepEqual(await changedSince({ ...stored, other: [dropForever] }), ['other'])
  assert.deepEqual(await changedSince({ _default: [dropForever] }), ['_default', dataSource])
  // A user who may not read all rules does not know those that are missing.
  assert.deepEqual(await changedSince({ [dataSource]: [loadForever] }, false), [])
  assert.deepEqual(await changedSince({ [dataSource]: [] }, false), [dataSource])
})
