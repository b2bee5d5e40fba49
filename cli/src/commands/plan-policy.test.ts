import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { AnsweredPreview } from '../preview/index.ts'
import { policyNotice } from './plan-policy.ts'

describe('a notice that a policy does not limit later losses', () => {
  const previewWith = (laterLosses: object | undefined) =>
    ({ summary: { laterLosses } }) as unknown as Pick<AnsweredPreview, 'summary'>
  const loss = { unused: { from: '2026-11-29T00:00:00.000Z', segments: 1, bytes: 1 } }
  const rows: [name: string, file: string | undefined, laterLosses: object | undefined, isShown: boolean][] =
    [
      ['with a policy and a later loss', 'policy.yaml', loss, true],
      ['not without a policy', undefined, loss, false],
      ['not without a later loss', 'policy.yaml', {}, false],
      ['not without a horizon', 'policy.yaml', undefined, false],
    ]
  for (const [name, file, laterLosses, isShown] of rows)
    test(name, () => assert.equal(policyNotice(file, previewWith(laterLosses)) !== undefined, isShown))

  test('not if no rules change', () => assert.equal(policyNotice('policy.yaml', undefined), undefined))
})
