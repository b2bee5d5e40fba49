import type { LdapProbeResult } from '@svc/shared/security'
import type { Server } from './configuration.ts'
import type { Authenticator } from './logins.ts'
import type { ServedTls } from './served-tls.ts'
import type { StoreContent, StoreUse } from './stores.ts'

/** What probes have found out about the surroundings of a configuration. */
export interface Facts {
  /** Returns the content of a store; undefined if it was not opened, because its password is not known. */
  storeOf(use: StoreUse): StoreContent | undefined
  /** Returns why a search filter is not valid; undefined if it is valid. */
  filterProblem(filter: string): string | undefined
  /** Returns the result of a bind and search; undefined if the directory was not probed. */
  directoryOf(server: Server, authenticator: Authenticator): LdapProbeResult | undefined
  /** Returns what a running server shows on its TLS port; undefined if it was not probed. */
  tlsOf(server: Server): ServedTls | undefined
}
