import { notFound } from '@svc/domain/failure'
import type { Access } from '@svc/shared/http'
import { readStoredDocument } from '@svc/shared/openapi'

/** An endpoint of any server, with the parameters of a path. */
export interface FoundEndpoint {
  readonly template: string
  readonly access: Access
  readonly parameters: Readonly<Record<string, string>>
}

/** Returns the endpoint for a method and a path. Throws notFound if no server has it. */
export async function findEndpoint(method: string, path: string): Promise<FoundEndpoint> {
  const {
    document: { paths },
  } = await readStoredDocument()
  const queriedPath = path.split('?', 1)[0] as string
  // The OpenAPI document does not list internal endpoints.
  if (queriedPath.startsWith('/svc-internal/'))
    return { template: '/svc-internal/**', access: { kind: 'internal' }, parameters: {} }
  const candidates = [queriedPath, `/proxy/coordinator${queriedPath}`, `/proxy/overlord${queriedPath}`]
  for (const candidate of candidates) {
    // Like the servers, match literal paths before paths with parameters.
    const templates = Object.keys(paths).sort((a, b) => a.split('{').length - b.split('{').length)
    for (const template of templates) {
      const parameters = matchTemplate(template, candidate)
      const operation = parameters && paths[template]?.[method.toLowerCase()]
      if (operation) return { template, access: operation['x-access'], parameters }
    }
  }
  throw notFound(`Unknown endpoint [${method} ${queriedPath}]`)
}

function matchTemplate(template: string, path: string): Record<string, string> | undefined {
  const parts = template.split('/')
  const given = path.replace(/(?<=.)\/$/, '').split('/')
  if (parts.length !== given.length) return undefined
  const parameters: Record<string, string> = {}
  for (const [index, part] of parts.entries()) {
    const name = /^\{(\w+)\}$/.exec(part)?.[1]
    if (name === undefined) {
      if (part !== given[index]) return undefined
    } else {
      try {
        parameters[name] = decodeURIComponent(given[index] as string)
      } catch {
        return undefined
      }
    }
  }
  return parameters
}
