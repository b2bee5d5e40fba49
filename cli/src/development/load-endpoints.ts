import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { roles } from '@svc/shared/config'
import type { EndpointDescription } from '@svc/shared/http'
import type { ServerEndpoints } from '@svc/shared/openapi'
import { bundleOf } from '../bundles/index.ts'

/** The endpoints of all roles, as listed by the servers. */
export async function loadEndpoints(): Promise<ServerEndpoints[]> {
  const servers: ServerEndpoints[] = []
  for (const role of roles) {
    const { stdout } = await promisify(execFile)(process.execPath, [bundleOf(role), '--routes'], {
      maxBuffer: 16 * 1024 * 1024,
    })
    servers.push({ role, endpoints: JSON.parse(stdout) as EndpointDescription[] })
  }
  return servers
}
