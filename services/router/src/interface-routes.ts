import { authenticated, jsonAnswer, Reply, type Route, route, textAnswer } from '@svc/shared/http'
import { interfacePage, readStoredDocument } from '@svc/shared/openapi'
import * as z from 'zod'

const pageHeaders = {
  'Content-Type': 'text/html; charset=utf-8',
  // The page needs only its inline style.
  'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
}

/** The endpoints that document the API, as an OpenAPI document and as a page. */
export function interfaceRoutes(): Route[] {
  return [
    route({
      method: 'GET',
      path: '/openapi.json',
      access: authenticated,
      summary: 'Get the OpenAPI document of this API',
      answers: [jsonAnswer(z.looseObject({ openapi: z.string() }))],
      handle: async () => (await readStoredDocument()).document,
    }),
    route({
      method: 'GET',
      path: '/interface',
      access: authenticated,
      summary: 'Get the documentation of this API as an HTML page',
      answers: [textAnswer('text/html')],
      handle: async () => {
        const { document } = await readStoredDocument()
        return new Reply(200, interfacePage(document), pageHeaders)
      },
    }),
  ]
}
