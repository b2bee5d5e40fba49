import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { repositoryRoot } from '@svc/cli/home'
import { type Role, roles } from '@svc/shared/config'
import type { Access, Method } from '@svc/shared/http'

/** One endpoint of a server, as the server itself tells it. */
export interface Endpoint {
  readonly role: Role
  readonly method: Method
  readonly path: string
  readonly access: Access
}

/** The endpoints of all servers, each as often as there are roles that have it. */
export async function loadRouteTables(): Promise<Endpoint[]> {
  const tables: Endpoint[] = []
  for (const role of roles) {
    const main = path.join(repositoryRoot, 'services', role, 'src/main.ts')
    const { stdout } = await promisify(execFile)(process.execPath, [main, '--routes'])
    const table = JSON.parse(stdout) as Omit<Endpoint, 'role'>[]
    tables.push(...table.map((endpoint) => ({ role, ...endpoint })))
  }
  return tables
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
  if (role === 'broker' && template.startsWith('/svc/broker/')) return filled
  return role === 'router' ? filled : undefined
}
