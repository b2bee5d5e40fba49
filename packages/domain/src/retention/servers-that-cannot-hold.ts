import type { LoadingServer } from '../loading/index.ts'
import type { RulesByName } from '../rules/index.ts'

/** The servers that broadcast rules want to hold segments and that have no room for any; none without such rules. */
export function serversThatCannotHold<Server extends Pick<LoadingServer, 'maxSizeBytes'>>(
  rules: RulesByName,
  servers: readonly Server[],
): Server[] {
  const broadcasts = [...rules.values()].some((list) => list.some(({ type }) => type.startsWith('broadcast')))
  return broadcasts ? servers.filter(({ maxSizeBytes }) => maxSizeBytes === 0) : []
}
