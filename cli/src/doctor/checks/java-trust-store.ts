import { placeOf, type Server } from '../configuration.ts'
import type { Check, CheckInput, Hit } from '../findings.ts'
import { javaTrustStore, type StoreContent, type StoreUse, servedChain, trustIn } from '../stores.ts'

const effect =
  "Connections that use Java's trust store fail, for example those to the metadata store, S3, or an OpenID provider. Druid does not use Java's trust store for connections between its servers or to LDAP directories."

/** A check of the trust store of Java; `find` returns what is wrong with it and how to fix it. */
const ofJavaTrustStore = (
  code: string,
  find: (
    use: StoreUse,
    content: StoreContent | undefined,
  ) => (Pick<Hit, 'problem' | 'fix'> & { readonly property?: string }) | undefined,
): Check => ({
  code,
  severity: 'error',
  find: (server, { facts }) => {
    const use = javaTrustStore(server)
    const found = use && find(use, facts.storeOf(use))
    if (!found) return []
    const { property = use.property, problem, fix } = found
    const at = placeOf(server, server.properties.has(property) ? property : use.property)
    return [{ at, problem, effect, fix }]
  },
})

/** Checks of the trust store in the options of Java, in `jvm.config`. */
export const javaTrustStoreChecks: readonly Check[] = [
  ofJavaTrustStore('java-trust-store-missing', ({ path, property }, content) =>
    content?.kind === 'missing'
      ? {
          problem: `The trust store [${path}] from [-D${property}] does not exist`,
          fix: "Use the path of an existing file, or remove the option to use Java's default CA certificates. If the file has a different path on this machine, add --map.",
        }
      : undefined,
  ),
  ofJavaTrustStore('java-trust-store-not-a-file', ({ path, property }, content) =>
    content?.kind === 'notAFile'
      ? {
          problem: `The trust store [${path}] from [-D${property}] is ${content.is}, not a file`,
          fix: 'Use the path of the file with the certificates.',
        }
      : undefined,
  ),
  ofJavaTrustStore('java-trust-store-closed', ({ path, property, password }, content) => {
    if (content?.kind !== 'closed') return undefined
    if (content.reason === 'format')
      return {
        problem: `[${path}] from [-D${property}] is neither a JKS nor a PKCS12 store`,
        fix: 'Import the certificates with keytool -importcert.',
      }
    return {
      property: `${property}Password`,
      problem:
        password === undefined
          ? `[-D${property}Password] is not set, so Java finds no certificates in the PKCS12 store [${path}]`
          : `The password in [-D${property}Password] does not open the trust store [${path}]`,
      fix: `Set [-D${property}Password] to the password of the store.`,
    }
  }),
  ofJavaTrustStore('java-trust-store-empty', ({ path, property }, content) =>
    content?.kind === 'open' && content.trusted.length === 0
      ? {
          problem: `The trust store [${path}] from [-D${property}] contains no CA certificate`,
          fix: 'Import the CA certificates with keytool -importcert -trustcacerts.',
        }
      : undefined,
  ),
]

/** A sentence for a server without a trust store of its own, because the one of Java does not replace it; with a space before it. */
export function javaTrustStoreNote(server: Server, { facts }: CheckInput): string {
  const use = javaTrustStore(server)
  return use === undefined || facts.storeOf(use)?.kind !== 'open'
    ? ''
    : ` Druid does not fall back to the trust store [${use.path}] from [-D${use.property}].`
}

/** The same for connections between servers, whose authority is known. */
export function javaTrustStoreNoteOfServers(server: Server, input: CheckInput): string {
  const note = javaTrustStoreNote(server, input)
  const use = javaTrustStore(server)
  const served = servedChain(server, input.facts.storeOf)
  const content = use && input.facts.storeOf(use)
  if (note === '' || served === undefined || content?.kind !== 'open') return note
  const isTrusted = trustIn(served.chain, content.trusted) === 'trusted'
  return `${note} That trust store ${isTrusted ? 'contains' : 'does not contain'} the CA that issued the certificate in [${served.use.path}].`
}
