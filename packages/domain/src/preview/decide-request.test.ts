import assert from 'node:assert/strict'
import { test } from 'node:test'
import { finish } from '../steps/index.ts'
import { decideRequest, formatDecided, parsePreviewRequest } from './index.ts'
import { clusterOfDays, testNow, testServer } from './test-preview.ts'

const drop = [{ type: 'dropForever' }]
const cluster = clusterOfDays([testServer('hot-1', 'hot')], drop, [[0], [0]])

/** Returns the types of the warnings about a change, for a caller who may read some datasources. */
function warningsFor(request: object, canRead: (name: string) => boolean): string[] {
  const parsed = finish(parsePreviewRequest(request, testNow))
  const decided = finish(decideRequest(parsed, cluster, { canRead, canReadTiers: true }))
  const { warnings } = finish(formatDecided(decided, { full: false, offset: 0, limit: 0 }))
  return (warnings as { readonly type: string }[]).map(({ type }) => type)
}

test('a change of default rules warns if datasources are left out that the caller may not read', () => {
  const isLeftOut = (request: object, canRead: (name: string) => boolean) =>
    warningsFor(request, canRead).includes('incompletePreview')
  for (const request of [{ rules: {}, defaultRules: drop }, { rules: drop }]) {
    assert.equal(
      isLeftOut(request, () => false),
      true,
    )
    assert.equal(
      isLeftOut(request, () => true),
      false,
    )
  }
  // The coordinator refuses a request that names a datasource that the caller may not read.
  assert.equal(
    isLeftOut({ rules: { other: drop } }, () => false),
    false,
  )
})
