import { answeringServer } from './answering-server.ts'
import type { ClusterClient } from './cluster-client.ts'

const noticeAfterMs = 3000

/**
 * A client that reports for which server it waits if an answer takes longer than a few seconds. Concurrent requests to the same
 * server are reported once.
 */
export function withWaitNotices(
  client: ClusterClient,
  print: (text: string) => void,
  afterMs: number = noticeAfterMs,
): ClusterClient {
  const waiting = new Map<string, number>()
  const request: ClusterClient['request'] = async (method, path, ...rest) => {
    const server = answeringServer(path)
    const [place = ''] = path.split('?', 1)
    let isSlow = false
    const timer = setTimeout(() => {
      isSlow = true
      const others = waiting.get(server) ?? 0
      waiting.set(server, others + 1)
      if (others === 0)
        print(`Waiting for a response from the ${server} at [${client.routerUrl}] (${method} ${place})`)
    }, afterMs)
    try {
      return await client.request(method, path, ...rest)
    } finally {
      clearTimeout(timer)
      if (isSlow) waiting.set(server, waiting.get(server)! - 1)
    }
  }
  return { ...client, request, send: async (...sent) => (await request(...sent)).body }
}
