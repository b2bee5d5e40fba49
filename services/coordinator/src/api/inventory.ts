import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { constants, createGzip } from 'node:zlib'
import { Reply, type Route, route, state, streamed, textAnswer } from '@svc/shared/http'
import type { ClusterView } from '../cluster-view.ts'
import { atLeader } from '../leadership/index.ts'
import type { Previews } from '../preview/index.ts'

/** Returns the endpoint from which a page gets everything that it needs to preview rule changes by itself. */
export function inventoryRoute({ leadership, context }: ClusterView, previews: Previews): Route {
  return atLeader(
    leadership,
    context,
    route({
      method: 'GET',
      path: '/svc/coordinator/v1/inventory',
      access: state('READ'),
      summary:
        'Get the used segments of the datasources that the caller may read, with their servers and rules, as binary columns; the status is 304 if they still match the tag in If-None-Match',
      answers: [
        textAnswer('application/octet-stream'),
        { status: 304, description: 'Nothing has changed since the tag', content: {} },
      ],
      handle: async ({ caller, signal, request, response }) => {
        const { tag, encode } = await previews.inventory(caller, signal)
        if (request.headers['if-none-match'] === tag) return new Reply(304, undefined, { ETag: tag })
        const pieces = await encode()
        const isZipped = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))
        response.writeHead(200, {
          'Content-Type': 'application/octet-stream',
          ETag: tag,
          Vary: 'Accept-Encoding',
          ...(isZipped ? { 'Content-Encoding': 'gzip' } : {}),
        })
        if (request.method === 'HEAD') {
          response.end()
          return streamed
        }
        const source = Readable.from(pieces, { objectMode: false })
        const zip = createGzip({ level: constants.Z_BEST_SPEED })
        await (isZipped ? pipeline(source, zip, response) : pipeline(source, response)).catch((error) => {
          // There is no caller left to report the error to.
          if (!signal.aborted) throw error
        })
        return streamed
      },
    }),
  )
}
