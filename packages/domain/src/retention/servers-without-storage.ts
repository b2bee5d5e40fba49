import type { LoadingServer } from '../loading/index.ts'
import { describeWantedCopies, type RulesByName } from '../rules/index.ts'

/** Returns the servers without storage for segments if there are broadcast rules, or else no servers. */
export function serversWithoutStorage<Server extends Pick<LoadingServer, 'maxSizeBytes'>>(
  rules: RulesByName,
  servers: readonly Server[],
): Server[] {
  const broadcasts = [...rules.values()].some((list) =>
    list.some((rule) => describeWantedCopies(rule).action === 'broadcast'),
  )
  return broadcasts ? servers.filter(({ maxSizeBytes }) => maxSizeBytes === 0) : []
}
