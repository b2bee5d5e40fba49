import { loadEndpoints } from '@svc/cli/development'
import type { Role } from '@svc/shared/config'
import type { EndpointDescription } from '@svc/shared/http'

/** One endpoint of a server, as the server itself describes it. */
export interface Endpoint extends EndpointDescription {
  readonly role: Role
}

/** The endpoints of all servers, each as often as there are roles that have it. */
export async function loadRouteTables(): Promise<Endpoint[]> {
  const servers = await loadEndpoints()
  return servers.flatMap(({ role, endpoints }) => endpoints.map((endpoint) => ({ role, ...endpoint })))
}

/** The path with something in place of its parameters that exists nowhere. */
export function fillPath(template: string): string {
  return template.replace(/:(\w+)/g, 'nosuch-$1')
}

/** The path by which the router hands a request on to the endpoint; undefined where it offers no way. */
export function pathThroughRouter({ role, path: template }: Endpoint): string | undefined {
  const filled = fillPath(template)
  if (template.startsWith('/svc-internal/')) return undefined
  if (role === 'coordinator' || role === 'overlord') return `/proxy/${role}${filled}`
  if (role === 'broker' && /^\/svc\/(broker|v2)(\/|$)/.test(template)) return filled
  return role === 'router' ? filled : undefined
}
