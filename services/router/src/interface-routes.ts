import { readFile } from 'node:fs/promises'
import { authenticated, Reply, type Route, route } from '@svc/shared/http'
import { interfacePage, type OpenApiDocument } from '@svc/shared/openapi'

const documentFile = new URL('../openapi.json', import.meta.url)

const pageHeaders = {
  'Content-Type': 'text/html; charset=utf-8',
  // The page needs nothing but its own style.
  'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
}

/** The endpoints that tell what the interface is: as an OpenAPI document, and as a page. */
export function interfaceRoutes(): Route[] {
  // Read when first asked for: most routers are never asked.
  let text: Promise<string> | undefined
  const documentText = () => {
    text ??= readFile(documentFile, 'utf8')
    return text
  }
  return [
    route({
      method: 'GET',
      path: '/openapi.json',
      access: authenticated,
      summary: 'This interface as an OpenAPI document',
      handle: async () => new Reply(200, await documentText(), { 'Content-Type': 'application/json' }),
    }),
    route({
      method: 'GET',
      path: '/interface',
      access: authenticated,
      summary: 'This interface as a page to read',
      handle: async () =>
        new Reply(200, interfacePage(JSON.parse(await documentText()) as OpenApiDocument), pageHeaders),
    }),
  ]
}
