import assert from 'node:assert/strict'
import { test } from 'node:test'
import { userCache } from './user-cache.ts'

test('caches of a user are in XDG_CACHE_HOME, or in the home directory', () => {
  const home = () => '/home/you'
  assert.equal(userCache({ XDG_CACHE_HOME: '/caches' }, home), '/caches')
  for (const environment of [{}, { XDG_CACHE_HOME: '' }, { XDG_CACHE_HOME: 'relative' }])
    assert.equal(userCache(environment, home), '/home/you/.cache')
})

test('a user without a home directory has no caches', () => {
  const noName = () => {
    throw new Error('uv_os_homedir returned ENOENT (no such file or directory)')
  }
  for (const home of [noName, () => '', () => 'relative']) assert.equal(userCache({}, home), undefined)
})
