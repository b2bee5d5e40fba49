import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { roles } from '@svc/shared/config'
import type { EndpointDescription } from '@svc/shared/http'
import type { ServerEndpoints } from '@svc/shared/openapi'
import { repositoryRoot } from '../home/index.ts'

/** The endpoints of all roles, as listed by the servers. */
export async function loadEndpoints(): Promise<ServerEndpoints[]> {
  const servers: ServerEndpoints[] = []
  for (const role of roles) {
    const main = path.join(repositoryRoot, 'services', role, 'src/main.ts')
    const { stdout } = await promisify(execFile)(process.execPath, [main, '--routes'], {
      maxBuffer: 16 * 1024 * 1024,
    })
    servers.push({ role, endpoints: JSON.parse(stdout) as EndpointDescription[] })
  }
  return servers
}
