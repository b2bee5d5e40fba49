import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import { isIP } from 'node:net'
import type { Escalator } from './escalator.ts'
import { createReplayWindow } from './replay-window.ts'

/** The header in which the router forwards the address of a caller. */
export const callerAddressHeader = 'x-svc-caller-address'

/** The request with a forwarded address, as sent. */
export interface HandedOnRequest {
  readonly method: string
  /** Path and query. */
  readonly path: string
  readonly authorization: string | undefined
}

/** The result of verifying a header. */
export type CallerAddress =
  | { readonly kind: 'valid'; readonly address: string }
  | { readonly kind: 'invalid'; readonly reason: string }

// Max age of a header, and max difference between the clocks of two servers.
const maxAgeMs = 60_000

/** Returns a function that derives the shared key of the servers; it returns undefined without an escalator. */
function keyFrom(escalator: Pick<Escalator, 'header'>): () => Buffer | undefined {
  let derivedFrom: string | undefined
  let key: Buffer | undefined
  return () => {
    const header = escalator.header()
    if (header !== derivedFrom) {
      derivedFrom = header
      key =
        header === undefined
          ? undefined
          : Buffer.from(hkdfSync('sha256', header, '', 'svc caller address', 32))
    }
    return key
  }
}

function tagOf(
  key: Buffer,
  target: string,
  { method, path, authorization = '' }: HandedOnRequest,
  values: readonly string[],
): string {
  const signed = JSON.stringify([...values, target, method, path, authorization])
  return createHmac('sha256', key).update(signed).digest('base64url')
}

/**
 * Creates a function that signs the address of a caller for one request to one server, with a key derived from the
 * secret of the escalator. It returns undefined if the escalator has no secret.
 */
export function createAddressSigner(
  escalator: Pick<Escalator, 'header'>,
  now: () => number,
): (target: string, request: HandedOnRequest, address: string) => string | undefined {
  const key = keyFrom(escalator)
  const session = randomBytes(9).toString('base64url')
  let sequence = 0
  return (target, request, address) => {
    const secret = key()
    if (secret === undefined) return undefined
    sequence += 1
    const values = [session, String(sequence), String(now()), address]
    return [...values, tagOf(secret, target, request, values)].join(' ')
  }
}

/**
 * Creates a function that verifies headers signed for the server at `target`. A header is valid once, for its request
 * and login, for one minute, and only if signed after this server started. After a header with another secret, the
 * escalator reloads its password, which may have changed.
 */
export function createAddressReader(
  escalator: Pick<Escalator, 'header' | 'refused'>,
  target: () => string,
  now: () => number,
): (header: string, request: HandedOnRequest) => CallerAddress {
  const key = keyFrom(escalator)
  const isFirstUse = createReplayWindow(now, 2 * maxAgeMs)
  const startedAt = now()
  const invalid = (reason: string): CallerAddress => ({ kind: 'invalid', reason })

  return (header, request) => {
    const secret = key()
    if (secret === undefined) return invalid('this server has no escalator')
    const [session = '', sequence = '', time = '', address = '', tag = '', ...rest] = header.split(' ')
    const isWellFormed =
      rest.length === 0 && isIP(address) !== 0 && [sequence, time].every((text) => /^\d{1,15}$/.test(text))
    if (!isWellFormed) return invalid('malformed header')
    const expected = Buffer.from(tagOf(secret, target(), request, [session, sequence, time, address]))
    const given = Buffer.from(tag)
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
      escalator.refused()
      return invalid('not signed for this request with the escalator secret')
    }
    if (Math.abs(now() - Number(time)) > maxAgeMs || Number(time) < startedAt)
      return invalid('expired, or the clocks of the servers differ')
    if (!isFirstUse(session, Number(sequence))) return invalid('already used')
    return { kind: 'valid', address }
  }
}
