import { notFound } from '@svc/domain/failure'
import type { ClusterClient } from '../client/index.ts'

/** A client for tests that answers from a table by method and path, and records what was sent. */
export function testClient(
  answers: Readonly<Record<string, unknown>>,
): ClusterClient & { readonly sent: readonly string[] } {
  const sent: string[] = []
  const send: ClusterClient['send'] = async (method, path, body) => {
    const request = `${method} ${path}`
    sent.push(body === undefined ? request : `${request} ${JSON.stringify(body)}`)
    if (!Object.hasOwn(answers, request)) throw notFound(`[${request}] does not exist`)
    const answer = answers[request]
    if (answer instanceof Error) throw answer
    return answer
  }
  return {
    routerUrl: 'http://router',
    interfaceName: 'svc',
    sent,
    send,
    request: async (...given) => ({ status: 200, headers: {}, body: await send(...given) }),
  }
}
