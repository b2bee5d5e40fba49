import type { LoginFailure } from '@svc/domain/access'
import type { Caller } from './caller.ts'

/** A user name with a password. */
export interface Login {
  readonly user: string
  readonly password: string
}

/** The origin of a login, and the server that it claims to be, for the log. */
export interface LoginOrigin {
  /** The address of the caller, even if a router forwarded the request. */
  readonly address: string
  /** The remote address of the connection, which may be that of a router. */
  readonly peer?: string
  readonly server: string
  /** The ID of the request. */
  readonly requestId?: string
  /** Returns a signal that is aborted if the caller disconnects. */
  readonly leaving?: () => AbortSignal
}

/** Who a caller is, or why this is not known. */
export type Authentication =
  | { readonly kind: 'known'; readonly caller: Caller }
  | { readonly kind: 'refused'; readonly failure: LoginFailure }
  | { readonly kind: 'throttled'; readonly retryAfterSeconds: number; readonly failure: LoginFailure }
  | { readonly kind: 'unavailable'; readonly message: string; readonly failure: LoginFailure }

/**
 * Called for every rejected login; `server` of the origin is empty if no server of the cluster sent it. `knownAs` is the
 * user name that the store or a directory has for the typed name, if any.
 */
export type OnRefused = (
  user: string,
  origin: LoginOrigin,
  failure: LoginFailure,
  knownAs: string | undefined,
) => void
