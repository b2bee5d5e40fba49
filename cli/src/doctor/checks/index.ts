import type { Check } from '../findings.ts'
import { authorizerChecks } from './authorizers.ts'
import { certificateChecks, tlsChecks } from './certificates.ts'
import { chainChecks } from './chain.ts'
import { escalatorChecks } from './escalator.ts'
import { exposureChecks } from './exposure.ts'
import { javaTrustStoreChecks } from './java-trust-store.ts'
import { directoryChecks } from './ldap.ts'
import { directoryProbeChecks } from './ldap-probes.ts'
import { nameChecks } from './names.ts'
import { passwordChecks } from './passwords.ts'
import { runningServerChecks } from './running-servers.ts'
import { storeChecks } from './stores.ts'
import { tlsNameChecks } from './tls-names.ts'
import { valueChecks } from './values.ts'

/** All checks of a configuration, one table for each topic. */
export const allChecks: readonly Check[] = [
  ...chainChecks,
  ...authorizerChecks,
  ...escalatorChecks,
  ...passwordChecks,
  ...directoryChecks,
  ...directoryProbeChecks,
  ...tlsChecks,
  ...tlsNameChecks,
  ...storeChecks,
  ...javaTrustStoreChecks,
  ...certificateChecks,
  ...runningServerChecks,
  ...exposureChecks,
  ...nameChecks,
  ...valueChecks,
]
