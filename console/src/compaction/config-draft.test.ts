import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changedFields, unsavedConfig } from './config-draft.ts'

const config = { dataSource: 'wiki', skipOffsetFromLatest: 'P1D', tuningConfig: { maxRows: 1 } }

test('lists the fields in which configurations differ', () => {
  assert.deepEqual(changedFields(config, { ...config, skipOffsetFromLatest: 'P2D', tuningConfig: null }), [
    { field: 'skipOffsetFromLatest', before: '"P1D"', after: '"P2D"' },
    { field: 'tuningConfig', before: '{"maxRows":1}', after: undefined },
  ])
  assert.deepEqual(changedFields(config, { ...config }), [])
  assert.deepEqual(changedFields(undefined, { dataSource: 'wiki' }), [
    { field: 'dataSource', before: undefined, after: '"wiki"' },
  ])
})

test('an edit that changes nothing is not unsaved, and one that stops compaction is', () => {
  const draft = { config, base: { ...config }, comment: '' }
  assert.equal(unsavedConfig({ draft, discarded: undefined }), undefined)
  const stop = { ...draft, config: undefined }
  assert.equal(unsavedConfig({ draft: stop, discarded: undefined }), stop)
})
