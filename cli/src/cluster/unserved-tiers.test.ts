import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { parseOptions } from '../cluster-options/index.ts'
import { homeLayout } from '../home/index.ts'
import { unservedTiers } from './unserved-tiers.ts'

test('tiers of an earlier start that have no historicals now are known by their caches', () => {
  const root = mkdtempSync(path.join(tmpdir(), 'svc-unserved-tiers-'))
  try {
    const home = homeLayout(root)
    const tiersAfter = (historicals?: string) =>
      unservedTiers(home, { options: parseOptions({ historicals }) })
    assert.deepEqual(tiersAfter(), [])
    for (const instance of [
      'historical-1',
      'historical-hot-1',
      'historical-hot-2',
      'historical-a-b-1',
      'broker',
    ])
      mkdirSync(path.join(home.cache, instance), { recursive: true })
    assert.deepEqual(tiersAfter(), ['a-b', 'hot'])
    assert.deepEqual(tiersAfter('hot=1'), ['_default_tier', 'a-b'])
    assert.deepEqual(tiersAfter('hot=1,a-b=1,_default_tier=1'), [])
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
})
