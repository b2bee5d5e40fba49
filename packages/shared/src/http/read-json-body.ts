import type { IncomingMessage } from 'node:http'
import { Failure, forbidden, invalidInput } from '@svc/domain/failure'
import type { Caller } from '../security/index.ts'
import { JsonScan, parseJsonText } from '../wire/index.ts'
import { hasBody, knownLength, receiveBody, unreadableEncoding } from './receive-body.ts'
import type { BodyDefinition, Route } from './route.ts'
import { type Release, SharedBudget } from './shared-budget.ts'

/** Length up to which every body is read, in bytes: more only from callers who may have use for the route. */
const untrustedLimitBytes = 64 * 1024

const mebibyte = 1024 * 1024

/** What callers share when their bodies are read. */
export interface BodyBudgets {
  /** Number of bodies that are read at once. */
  readonly bodies: SharedBudget
  /** Bytes of bodies longer than `untrustedLimitBytes` that are read or worked on at once. */
  readonly bytes: SharedBudget
}

/** Budgets of their own for users and for the servers of the cluster, so that neither starves the other. */
export interface Budgets {
  readonly users: BodyBudgets
  readonly servers: BodyBudgets
}

const waits = { maxWaitingPerCaller: 64, maxWaiting: 512, maxWaitMs: 20_000 }

/** The budgets of one server. */
export const createBudgets = (): Budgets => ({
  users: {
    bodies: new SharedBudget({ max: 2000, maxPerCaller: 500, ...waits }),
    bytes: new SharedBudget({ max: 128 * mebibyte, maxPerCaller: 64 * mebibyte, ...waits }),
  },
  servers: {
    bodies: new SharedBudget({ max: 10_000, maxPerCaller: 10_000, ...waits }),
    bytes: new SharedBudget({ max: 512 * mebibyte, maxPerCaller: 512 * mebibyte, ...waits }),
  },
})

/** Who sends a body, and what that means for reading it. */
export interface Sender {
  readonly caller: Caller
  /** Whether it is a server of the cluster, whose bodies are only limited in bytes. */
  readonly isServer: boolean
}

/** A body as JSON. `release` gives back its part of the budgets, and must be called when it is no longer needed. */
export interface ReadBody {
  readonly json: unknown
  readonly release: Release
}

/** Whether a caller has a permission that the route may need, whatever the body names. */
function mayUse({ access }: Route, caller: Caller): boolean {
  if (access.kind === 'open') return false
  return access.kind !== 'stated' || caller.hasAny(access.action, access.type)
}

/**
 * Reads the body of a request as JSON; `json` is undefined where there is none. The limits of the route are checked while
 * the bytes arrive. Throws tooLarge for what exceeds one; forbidden for a body of more than 64 KiB from a caller who may
 * do nothing with it; busy if too many bodies are read already; invalidInput for anything but JSON in valid UTF-8.
 */
export async function readJsonBody(
  request: IncomingMessage,
  route: Route & { readonly body: BodyDefinition },
  { caller, isServer }: Sender,
  budgets: Budgets,
): Promise<ReadBody> {
  if (!hasBody(request)) return { json: undefined, release: () => undefined }
  assertUtf8(request.headers['content-type'])
  const { body } = route
  const isTrusted = isServer || mayUse(route, caller)
  const length = knownLength(request)
  const assertLength = (bytes: number): void => {
    if (bytes > body.limitBytes) {
      throw new Failure('tooLarge', `The body is larger than the limit of [${body.limitBytes}] bytes`)
    }
    if (!isTrusted && bytes > untrustedLimitBytes) throw untrusted(route)
  }
  assertLength(length ?? 0)
  const { bodies, bytes } = isServer ? budgets.servers : budgets.users
  const name = `${caller.authenticator} ${caller.identity}`
  const releases = [await bodies.take(name, 1)]
  const release = () => {
    for (const one of releases) one()
  }
  try {
    const text = await receiveText(request, {
      scan: new JsonScan(isServer ? unlimited(body) : body, length),
      assertLength,
      takeBytes: async () => {
        releases.push(await bytes.take(name, length ?? body.limitBytes))
      },
    })
    return { json: await parseText(text), release }
  } catch (error) {
    release()
    throw error
  }
}

interface Receiving {
  readonly scan: JsonScan
  assertLength(bytes: number): void
  /** Waits for the part of the budget that a long body takes. */
  takeBytes(): Promise<void>
}

async function receiveText(
  request: IncomingMessage,
  { scan, assertLength, takeBytes }: Receiving,
): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let text = ''
  let lengthBytes = 0
  const take = (chunk: Buffer): void => {
    scan.take(chunk)
    text += decode(decoder, chunk)
  }
  await receiveBody(request, (chunk) => {
    const isLong = lengthBytes > untrustedLimitBytes
    lengthBytes += chunk.length
    assertLength(lengthBytes)
    if (isLong || lengthBytes <= untrustedLimitBytes) return void take(chunk)
    return takeBytes().then(() => take(chunk))
  })
  return text + decode(decoder)
}

/** Servers send what they have: only a text that nobody can build a value from is refused. */
const unlimited = ({ maxDepth }: BodyDefinition) => ({
  maxDepth,
  maxValues: Number.POSITIVE_INFINITY,
  maxNames: Number.POSITIVE_INFINITY,
})

function decode(decoder: TextDecoder, chunk?: Buffer): string {
  try {
    return chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode()
  } catch {
    throw invalidInput('The body is not valid UTF-8')
  }
}

async function parseText(text: string): Promise<unknown> {
  if (text === '') return undefined
  try {
    return await parseJsonText(text)
  } catch {
    throw invalidInput('The body is not valid JSON')
  }
}

function assertUtf8(contentType: string | undefined): void {
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(contentType ?? '')?.[1]
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) throw unreadableEncoding()
}

function untrusted({ access }: Route): Failure {
  const limit = `without it a body may have at most [${untrustedLimitBytes}] bytes`
  return access.kind === 'stated'
    ? forbidden(`The permission [${access.action}] on any [${access.type}] is missing; ${limit}`)
    : new Failure('tooLarge', `The body is larger than the limit of [${untrustedLimitBytes}] bytes`)
}
