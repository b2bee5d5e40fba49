import type { RefusedHandshake, RefusedRequest } from '@svc/domain/access'
import { LastEntries } from '../runtime/index.ts'

/** The handshakes and requests that a server refused most recently. */
export interface Refusals {
  readonly handshakes: Omit<LastEntries<RefusedHandshake>, 'add'>
  readonly requests: Omit<LastEntries<RefusedRequest>, 'add'>
  addHandshake(refused: RefusedHandshake): void
  addRequest(refused: RefusedRequest): void
}

const capacity = 1000

/** Creates the journals of a server, which keep the last 1,000 refusals of each kind. Calls back after each of them. */
export function createRefusals(onRefusal: () => void = () => undefined): Refusals {
  const handshakes = new LastEntries<RefusedHandshake>(capacity)
  const requests = new LastEntries<RefusedRequest>(capacity)
  return {
    handshakes,
    requests,
    addHandshake: (refused) => {
      handshakes.add(refused)
      onRefusal()
    },
    addRequest: (refused) => {
      requests.add(refused)
      onRefusal()
    },
  }
}
