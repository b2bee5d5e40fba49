import { type Server, textOf } from './configuration.ts'

/** What a running server shows on its TLS port. */
export type ServedTls =
  /** It is not running, or cannot be reached from here. */
  | { readonly kind: 'silent' }
  | { readonly kind: 'failed'; readonly error: string }
  | {
      readonly kind: 'connected'
      readonly fingerprint: string
      /** Why a client with the trust store of the server refuses the certificate; undefined if it accepts it. */
      readonly refusedBecause: string | undefined
    }

/** Returns the host in `druid.host`, which may have a port. */
export const hostOf = (server: Server): string | undefined =>
  textOf(server, 'druid.host')
    ?.replace(/^(\[.*\]|[^:]*):\d+$/, '$1')
    .replace(/^\[(.*)\]$/, '$1') || undefined
