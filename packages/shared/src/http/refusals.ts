import type { RefusedHandshake, RefusedRequest } from '@svc/domain/access'
import { LastEntries } from '../runtime/index.ts'

/** The handshakes and requests that a server refused most recently. */
export interface Refusals {
  readonly handshakes: LastEntries<RefusedHandshake>
  readonly requests: LastEntries<RefusedRequest>
}

const capacity = 1000

/** Creates the journals of a server, which keep the last 1,000 refusals of each kind. */
export const createRefusals = (): Refusals => ({
  handshakes: new LastEntries(capacity),
  requests: new LastEntries(capacity),
})
