// The health check of a server's container. It runs as a process every few seconds, so it imports as little as possible.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import { text } from 'node:stream/consumers'
import { type OwnAddress, ownAddressFile } from './own-address.ts'

/** The server's answer to a health check. */
export async function fetchHealth({ host, port, isTls, trustStore }: OwnAddress): Promise<string> {
  const options = { host: '127.0.0.1', port, path: '/status/health', timeout: 25_000, agent: false }
  const request = isTls
    ? https.get({
        ...options,
        servername: host,
        ...(trustStore === undefined ? {} : { ca: readFileSync(trustStore) }),
      })
    : http.get(options)
  request.once('timeout', () => request.destroy(new Error('timed out')))
  const [answer] = (await once(request, 'response')) as [http.IncomingMessage]
  return await text(answer)
}

if (import.meta.main) {
  try {
    const answer = await fetchHealth(JSON.parse(readFileSync(ownAddressFile, 'utf8')) as OwnAddress)
    if (answer !== 'true') {
      process.stderr.write(`${answer}\n`)
      process.exitCode = 1
    }
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`)
    process.exitCode = 1
  }
}
