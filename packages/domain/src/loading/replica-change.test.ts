import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planReplicas } from './index.ts'

for (const { name, served, loading, required, surplus, expected } of [
  {
    name: 'loads all missing replicas',
    served: 0,
    loading: 0,
    required: 2,
    surplus: -2,
    expected: [2, 0, 0],
  },
  { name: 'counts a load in progress', served: 0, loading: 1, required: 2, surplus: -2, expected: [1, 0, 0] },
  {
    name: 'changes nothing with enough replicas',
    served: 2,
    loading: 0,
    required: 2,
    surplus: 0,
    expected: [0, 0, 0],
  },
  {
    name: 'cancels loads in progress first',
    served: 1,
    loading: 2,
    required: 2,
    surplus: 0,
    expected: [0, 1, 0],
  },
  { name: 'drops the surplus', served: 3, loading: 1, required: 2, surplus: 1, expected: [0, 1, 1] },
  {
    name: 'limits drops to the surplus in the cluster',
    served: 5,
    loading: 0,
    required: 2,
    surplus: 1,
    expected: [0, 0, 1],
  },
  {
    name: 'drops nothing while other tiers lack replicas',
    served: 5,
    loading: 0,
    required: 2,
    surplus: -1,
    expected: [0, 0, 0],
  },
]) {
  test(name, () => {
    const [loads, cancelledLoads, drops] = expected
    assert.deepEqual(planReplicas({ served, loading }, required, surplus), { loads, cancelledLoads, drops })
  })
}
