import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planReplicas } from './index.ts'

for (const { name, served, loading, required, surplus, expected } of [
  { name: 'nothing there', served: 0, loading: 0, required: 2, surplus: -2, expected: [2, 0, 0] },
  { name: 'a load in progress counts', served: 0, loading: 1, required: 2, surplus: -2, expected: [1, 0, 0] },
  { name: 'enough', served: 2, loading: 0, required: 2, surplus: 0, expected: [0, 0, 0] },
  {
    name: 'loads in progress are cancelled first',
    served: 1,
    loading: 2,
    required: 2,
    surplus: 0,
    expected: [0, 1, 0],
  },
  { name: 'surplus is dropped', served: 3, loading: 1, required: 2, surplus: 1, expected: [0, 1, 1] },
  { name: 'drops are capped', served: 5, loading: 0, required: 2, surplus: 1, expected: [0, 0, 1] },
  { name: 'others still lack copies', served: 5, loading: 0, required: 2, surplus: -1, expected: [0, 0, 0] },
]) {
  test(name, () => {
    const [loads, cancelledLoads, drops] = expected
    assert.deepEqual(planReplicas({ served, loading }, required, surplus), { loads, cancelledLoads, drops })
  })
}
