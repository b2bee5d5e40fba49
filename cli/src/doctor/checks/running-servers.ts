import { placeOf } from '../configuration.ts'
import type { Check } from '../findings.ts'
import { storeUses, usedKey } from '../stores.ts'

const keyStore = 'druid.server.https.keyStorePath'

/** Checks of what running servers show on their TLS ports. Servers that do not run have no findings. */
export const runningServerChecks: readonly Check[] = [
  {
    code: 'server-certificate-old',
    severity: 'warning',
    find: (server, { facts }) => {
      const served = facts.tlsOf(server)
      const use = storeUses(server).find(({ property }) => property === keyStore)
      const [certificate] = (use && usedKey(facts.storeOf(use), use.alias)?.chain) ?? []
      if (served?.kind !== 'connected' || !use || certificate?.fingerprint256 === served.fingerprint)
        return []
      return [
        {
          at: placeOf(server, keyStore),
          problem: `The running server does not present the certificate in [${use.path}]`,
          effect: 'Changes to the key store are not in effect yet.',
          fix: 'Restart the server, or copy the key store to it.',
        },
      ]
    },
  },
  {
    code: 'server-refused',
    severity: 'error',
    find: (server, { facts }) => {
      const served = facts.tlsOf(server)
      const reason =
        served?.kind === 'connected'
          ? served.refusedBecause
          : served?.kind === 'failed'
            ? served.error
            : undefined
      if (reason === undefined) return []
      return [
        {
          at: placeOf(server, 'druid.tlsPort'),
          problem: `TLS connections to the running server fail (${reason})`,
          effect: 'Other servers and clients cannot call this server.',
          fix: "Check that the server's certificate is valid for [druid.host] and trusted by [druid.client.https.trustStorePath]. Also check the server's log.",
        },
      ]
    },
  },
]
