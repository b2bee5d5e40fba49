import type { Cluster } from '@svc/cli/cluster'

const attemptMs = 1_000

/** Waits until the servers that were not ready after the start are ready, or until the signal is aborted. */
export async function untilReady(
  { notReady, waitUntilReady }: Pick<Cluster, 'notReady' | 'waitUntilReady'>,
  signal: AbortSignal,
): Promise<void> {
  for (const { instance } of notReady) {
    let isReady = false
    while (!isReady && !signal.aborted)
      isReady = await waitUntilReady(instance, attemptMs).then(
        () => true,
        () => false,
      )
  }
}
