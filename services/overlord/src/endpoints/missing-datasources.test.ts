import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CompactionPreviewRequest } from '@svc/domain/compaction'
import { missingDatasources } from './missing-datasources.ts'

type Request = Parameters<typeof missingDatasources>[0]

const namesOf = (...names: readonly string[]) => names.map((dataSource) => ({ dataSource }))
const request = (configs: readonly string[], segments?: readonly string[]): Request => ({
  configs: namesOf(...configs) as unknown as CompactionPreviewRequest['configs'],
  segments: (segments && namesOf(...segments)) as unknown as CompactionPreviewRequest['segments'],
})
const sees = (dataSource: string) => dataSource !== 'hidden' && dataSource !== 'hiddenUnknown'
const none = { needed: [], skipped: [], compactedIntervals: [] }
const plan = {
  configs: new Set(['flights', 'hidden', 'empty', 'typo']),
  findings: new Map([
    ['flights', { ...none, skipped: [{}] }],
    ['hidden', { ...none, needed: [{}] }],
    ['empty', none],
  ]),
}

test('the datasources of a request that its schedule does not contain', () => {
  assert.deepEqual(missingDatasources(request([]), plan, sees), [])
  assert.deepEqual(missingDatasources(request(['flights', 'flights']), plan, sees), [])
  assert.deepEqual(missingDatasources(request(['flights', 'empty', 'typo'], ['koalas']), plan, sees), [
    { dataSource: 'empty', reason: 'noSegments' },
    { dataSource: 'typo', reason: 'noSegments' },
    { dataSource: 'koalas', reason: 'noConfiguration' },
  ])
})

test('a request that names many datasources', () => {
  const names = Array.from({ length: 1000 }, (_, index) => `typo${index}`)
  assert.equal(missingDatasources(request(names), plan, sees).length, names.length)
})

test('the reason for a datasource that the caller may not read does not show whether it exists', () => {
  assert.deepEqual(missingDatasources(request(['hidden'], ['hiddenUnknown']), plan, sees), [
    { dataSource: 'hidden', reason: 'noPermission' },
    { dataSource: 'hiddenUnknown', reason: 'noPermission' },
  ])
})
