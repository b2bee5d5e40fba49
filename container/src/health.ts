// The health check of a server's container, a process of its own every few seconds: it loads nothing but what it needs.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import { text } from 'node:stream/consumers'

/** Where the server of this container listens, as it says at its start. */
export interface OwnAddress {
  /** The name that others reach it by, which its certificate has to be for. */
  readonly host: string
  readonly port: number
  readonly isTls: boolean
  readonly trustStore: string | undefined
}

export const ownAddressFile = '/tmp/own-address.json'

/** What the server answers when it is asked whether it serves. */
export async function askHealth({ host, port, isTls, trustStore }: OwnAddress): Promise<string> {
  const options = { host: '127.0.0.1', port, path: '/status/health', timeout: 25_000, agent: false }
  const request = isTls
    ? https.get({
        ...options,
        servername: host,
        ...(trustStore === undefined ? {} : { ca: readFileSync(trustStore) }),
      })
    : http.get(options)
  request.once('timeout', () => request.destroy(new Error('no answer in time')))
  const [answer] = (await once(request, 'response')) as [http.IncomingMessage]
  return await text(answer)
}

if (import.meta.main) {
  try {
    const answer = await askHealth(JSON.parse(readFileSync(ownAddressFile, 'utf8')) as OwnAddress)
    if (answer !== 'true') {
      process.stderr.write(`${answer}\n`)
      process.exitCode = 1
    }
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`)
    process.exitCode = 1
  }
}
