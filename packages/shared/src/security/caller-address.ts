import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import { isIP } from 'node:net'
import type { Escalator } from './escalator.ts'
import { createReplayWindow } from './replay-window.ts'

/** The header by which the router hands on the address of a caller. */
export const callerAddressHeader = 'x-svc-caller-address'

/** The request that an address is handed on with, as it is on the wire. */
export interface HandedOnRequest {
  readonly method: string
  /** Path and query. */
  readonly path: string
  readonly authorization: string | undefined
}

/** What the server that gets a header makes of it. */
export type CallerAddress =
  | { readonly kind: 'valid'; readonly address: string }
  | { readonly kind: 'invalid'; readonly reason: string }

// A header is taken for this long, and from clocks that differ by as much.
const maxAgeMs = 60_000

/** The key that the servers share; undefined where they have no identity of their own. */
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
 * Signs addresses of callers with a key that is derived from the secret of the escalator, each for one request to one
 * server. Returns undefined where the escalator has no secret.
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
 * Reads headers that were signed for the server at `target`. A header is valid once, for its request and its login, for
 * a minute, and not before this server started. One that was signed with another secret has the escalator look for a new
 * one, as its password may have been changed.
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
    if (!isWellFormed) return invalid('it is malformed')
    const expected = Buffer.from(tagOf(secret, target(), request, [session, sequence, time, address]))
    const given = Buffer.from(tag)
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
      escalator.refused()
      return invalid('it was not signed for this request with the secret of the escalator')
    }
    if (Math.abs(now() - Number(time)) > maxAgeMs || Number(time) < startedAt)
      return invalid('it has expired, or the clocks of the servers differ')
    if (!isFirstUse(session, Number(sequence))) return invalid('it was used before')
    return { kind: 'valid', address }
  }
}
