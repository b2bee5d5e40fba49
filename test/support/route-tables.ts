import { loadEndpoints } from '@svc/cli/development'
import type { Role } from '@svc/shared/config'
import type { EndpointDescription } from '@svc/shared/http'

/** One endpoint of a server, as described by that server. */
export interface Endpoint extends EndpointDescription {
  readonly role: Role
}

/** The endpoints of all servers, once for each role that has them. */
export async function loadRouteTables(): Promise<Endpoint[]> {
  const servers = await loadEndpoints()
  return servers.flatMap(({ role, endpoints }) => endpoints.map((endpoint) => ({ role, ...endpoint })))
}

/** Replaces the parameters of a path with a value that does not exist. */
export function fillPath(template: string): string {
  return template.replace(/:(\w+)/g, 'nosuch-$1')
}

/** The path of an endpoint at the router; undefined if the router does not forward to it. */
export function pathThroughRouter({ role, path: template }: Endpoint): string | undefined {
  const filled = fillPath(template)
  if (template.startsWith('/svc-internal/')) return undefined
  if (role === 'coordinator' || role === 'overlord') return `/proxy/${role}${filled}`
  if (role === 'broker' && /^\/svc\/(broker|v2)(\/|$)/.test(template)) return filled
  return role === 'router' ? filled : undefined
}
