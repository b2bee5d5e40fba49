import type { IncomingMessage } from 'node:http'
import { Failure, forbidden, invalidInput } from '@svc/domain/failure'
import type { Caller } from '../security/index.ts'
import { JsonScan, parseJsonText } from '../wire/index.ts'
import { maxUntrustedBodyBytes } from './body-limits.ts'
import { hasBody, knownLength, receiveBody, unreadableEncoding } from './receive-body.ts'
import type { BodyDefinition, Route } from './route-definition.ts'
import { type Release, SharedBudget } from './shared-budget.ts'

const mebibyte = 1024 * 1024

/** Shared budgets for requests and responses that need much memory. */
export interface RequestBudgets {
  /** Number of bodies that are read at the same time. */
  readonly bodies: SharedBudget
  /** Bytes of bodies longer than `maxUntrustedBodyBytes` that are read or processed at the same time. */
  readonly bytes: SharedBudget
  /** Number of responses that are sent in pieces at the same time. Until a piece is received, it is in memory. */
  readonly responses: SharedBudget
}

/** Separate budgets for users and for the servers of the cluster, so that neither starves the other. */
export interface Budgets {
  readonly users: RequestBudgets
  readonly servers: RequestBudgets
}

// A long body of a user counts as at least this many bytes, because even one of 1 MiB may take long to process: so a user
// has at most eight of them processed at the same time, and the others wait.
const minLongBytes = 8 * mebibyte

const waits = { maxWaitingPerCaller: 64, maxWaiting: 512, maxWaitMs: 20_000 }
// A response that waits needs little memory. There is no limit for all callers together, because callers that receive slowly would
// use it up.
const responseWaits = { ...waits, maxWaitingPerCaller: 500, maxWaiting: 2000, max: Number.POSITIVE_INFINITY }

/** Creates the budgets of one server. */
export const createBudgets = (): Budgets => ({
  users: {
    bodies: new SharedBudget({ max: 2000, maxPerCaller: 500, ...waits }),
    bytes: new SharedBudget({ max: 128 * mebibyte, maxPerCaller: 64 * mebibyte, ...waits }),
    responses: new SharedBudget({ maxPerCaller: 16, ...responseWaits }),
  },
  servers: {
    bodies: new SharedBudget({ max: 10_000, maxPerCaller: 10_000, ...waits }),
    bytes: new SharedBudget({ max: 512 * mebibyte, maxPerCaller: 512 * mebibyte, ...waits }),
    responses: new SharedBudget({ maxPerCaller: Number.POSITIVE_INFINITY, ...responseWaits }),
  },
})

/** The sender of a body. */
export interface Sender {
  readonly caller: Caller
  /** Whether the sender is a server of the cluster. Its bodies are only limited in bytes and depth. */
  readonly isServer: boolean
}

/** Returns the budgets of a sender, and the name under which it uses them. */
export function budgetsOf({ caller, isServer }: Sender, { users, servers }: Budgets) {
  return { ...(isServer ? servers : users), name: `${caller.authenticator} ${caller.identity}` }
}

/** A body as JSON. Call `release` when it is no longer needed, to return its share of the budgets. */
export interface ReadBody {
  readonly json: unknown
  readonly release: Release
}

/** Returns whether a caller has any permission that the route could require, regardless of what the body names. */
function mayUse({ access }: Route, caller: Caller): boolean {
  if (access.kind === 'open') return false
  return access.kind !== 'stated' || caller.hasAny(access.action, access.type)
}

/**
 * Reads the body of a request as JSON; `json` is undefined without a body. Checks the limits of the route while the
 * bytes arrive. Throws tooLarge if a limit is exceeded, forbidden for a body of more than 64 KiB from a caller without
 * any suitable permission, busy if too many bodies are being read, and invalidInput for anything but JSON in valid
 * UTF-8.
 */
export async function readJsonBody(
  request: IncomingMessage,
  route: Route & { readonly body: BodyDefinition },
  sender: Sender,
  budgets: Budgets,
): Promise<ReadBody> {
  if (!hasBody(request)) return { json: undefined, release: () => undefined }
  assertUtf8(request.headers['content-type'])
  const { body } = route
  const { caller, isServer } = sender
  const isTrusted = isServer || mayUse(route, caller)
  const length = knownLength(request)
  const assertLength = (bytes: number): void => {
    if (bytes > body.limitBytes) {
      throw new Failure('tooLarge', `The body is larger than the limit of [${body.limitBytes}] bytes`)
    }
    if (!isTrusted && bytes > maxUntrustedBodyBytes) throw untrusted(route)
  }
  assertLength(length ?? 0)
  const { bodies, bytes, name } = budgetsOf(sender, budgets)
  const releases = [await bodies.take(name, 1)]
  const release = () => {
    for (const one of releases) one()
  }
  try {
    const text = await receiveText(request, {
      scan: new JsonScan(isServer ? unlimited(body) : body, length),
      assertLength,
      takeBytes: async () => {
        releases.push(
          await bytes.take(name, Math.max(length ?? body.limitBytes, isServer ? 0 : minLongBytes)),
        )
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
  /** Waits for the share of the budget that a long body needs. */
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
    const isLong = lengthBytes > maxUntrustedBodyBytes
    lengthBytes += chunk.length
    assertLength(lengthBytes)
    if (isLong || lengthBytes <= maxUntrustedBodyBytes) return void take(chunk)
    return takeBytes().then(() => take(chunk))
  })
  return text + decode(decoder)
}

/** Bodies of servers have no limits except depth, which protects the JSON parser. */
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
  return access.kind === 'stated'
    ? forbidden(
        `A body of more than [${maxUntrustedBodyBytes}] bytes requires the permission [${access.action}] on at least one [${access.type}]`,
      )
    : new Failure('tooLarge', `The body is larger than the limit of [${maxUntrustedBodyBytes}] bytes`)
}
