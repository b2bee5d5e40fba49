import assert from 'node:assert/strict'
import { type HttpClient, waitUntil } from '@svc/shared/testing'

/** Returns a cluster to the state of a new one, or to that of a snapshot. It needs `svc.testing.enabled`. */
export async function resetCluster(router: HttpClient, snapshot?: string): Promise<void> {
  const resets = '/svc/indexer/v1/testing/resets'
  const { json } = await router.post(resets, { snapshot })
  const { id } = json as { id: string }
  await waitUntil(
    'the reset has ended',
    () => router.get<{ state: string; problem: string | null }>(`${resets}/${id}`),
    ({ state, problem }) => {
      assert.equal(problem, null)
      return state === 'SUCCESS'
    },
  )
}
