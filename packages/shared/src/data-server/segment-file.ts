import { open } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { notFound } from '@svc/domain/failure'
import { errorCode } from '../deep-storage/index.ts'
import { internal, type Route, route, streamed } from '../http/index.ts'
import type { DataServer } from './data-server.ts'

/** Where the Parquet file of a segment is fetched from a data server that serves it. */
export const segmentFilePath = (segmentId: string): string =>
  `/svc-internal/v1/segments/${encodeURIComponent(segmentId)}/file`

/** The endpoint from which brokers take the bytes of what is served here; anything else is not found. */
export function segmentFileRoute(server: DataServer): Route {
  return route({
    method: 'GET',
    path: '/svc-internal/v1/segments/:id/file',
    access: internal,
    summary: 'The Parquet file of a segment that is served here',
    handle: async ({ params, response }) => {
      const id = params.id as string
      const missing = () => notFound(`Segment[${id}] is not served here`, { segment: id })
      const path = server.fileOf(id)
      if (path === undefined) throw missing()
      // An open file stays readable, even if the segment is dropped meanwhile.
      const file = await open(path, 'r').catch((error: unknown) => {
        throw errorCode(error) === 'ENOENT' ? missing() : error
      })
      try {
        const { size } = await file.stat()
        response.writeHead(200, { 'Content-Type': 'application/vnd.apache.parquet', 'Content-Length': size })
        await pipeline(file.createReadStream({ autoClose: false }), response)
      } finally {
        await file.close()
      }
      return streamed
    },
  })
}
