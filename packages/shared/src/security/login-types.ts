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
  /** Returns a signal that is aborted if the caller disconnects. */
  readonly leaving?: () => AbortSignal
}

/** Who a caller is, or why this is not known. */
export type Authentication =
  | { readonly kind: 'known'; readonly caller: Caller }
  | { readonly kind: 'refused' }
  | { readonly kind: 'throttled'; readonly retryAfterSeconds: number }
  | { readonly kind: 'unavailable'; readonly message: string }

/**
 * Invalid credentials; too many failed logins; too many logins at once, so that the password was not verified; a network
 * that the internal user may not use.
 */
export type RefusalReason = 'login' | 'throttle' | 'overload' | 'network'

/**
 * Called for every rejected login; `server` of the origin is empty if no server of the cluster sent it. `knownAs` is the
 * user name that the store or a directory has for the typed name, if any.
 */
export type OnRefused = (
  user: string,
  origin: LoginOrigin,
  reason: RefusalReason,
  knownAs: string | undefined,
) => void
