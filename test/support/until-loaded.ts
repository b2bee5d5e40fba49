import { type HttpClient, type WaitOptions, waitUntil } from '@svc/shared/testing'

/** Waits until all replicas that the rules require are loaded. */
export async function untilLoaded(router: HttpClient, waitOptions: WaitOptions = {}): Promise<void> {
  await waitUntil(
    'no replica is missing',
    () => router.get<Record<string, Record<string, number>>>('/svc/coordinator/v1/loadstatus?full'),
    (byTier) => {
      const missing = Object.values(byTier).flatMap((tier) => Object.values(tier))
      return missing.length > 0 && missing.every((count) => count === 0)
    },
    waitOptions,
  )
}
