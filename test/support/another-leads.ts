import { type HttpClient, waitUntil } from '@svc/shared/testing'

/** The roles that have a leader, with the path segment of their interface. */
export const ledRoles = [
  ['coordinator', 'coordinator'],
  ['overlord', 'indexer'],
] as const

/**
 * Kills the leader of a role with `kill`, which receives its hostname, and returns once another server is the leader.
 * Hostnames begin with the role.
 */
export async function untilAnotherLeads(
  router: HttpClient,
  [role, word]: (typeof ledRoles)[number],
  kill: (host: string) => Promise<unknown>,
  waitOptions: { readonly timeoutMs: number; readonly pollMs: number },
): Promise<void> {
  const leader = async (): Promise<string> => (await router.send({ path: `/svc/${word}/v1/leader` })).text
  const former = await leader()
  await kill(new URL(former).hostname)
  await waitUntil(
    'another server leads',
    leader,
    (url) => url.startsWith(`https://${role}-`) && url !== former,
    waitOptions,
  )
}
