import { placeOf, type Server } from '../configuration.ts'
import { clientExtension, loadedExtensions } from '../druid-extensions.ts'
import type { Check, CheckInput, Hit, Severity } from '../findings.ts'
import {
  lockedOutBy,
  type OwnedStoreUse,
  type StoreContent,
  type StoreOwner,
  storeUses,
  usedKey,
} from '../stores.ts'
import { refusesLikeDruid } from '../up-effects.ts'

const effects: Readonly<Record<`${StoreOwner} ${OwnedStoreUse['kind']}`, string>> = {
  'druid.server.https key': 'The server does not start, or every TLS connection to it fails.',
  'druid.server.https trust': 'The server does not start, or rejects every client certificate.',
  'druid.client.https trust':
    'The server cannot call other servers: its duties fail, and it does not join the cluster.',
  'druid.client.https key': 'The server has no certificate to present when it calls other servers.',
  'druid.auth.basic.ssl trust': 'No directory user can log in.',
  'druid.auth.basic.ssl key': 'No directory user can log in.',
}

/** What a store is for, in words. */
const purposeOf = ({ kind }: OwnedStoreUse): string => (kind === 'key' ? 'key store' : 'trust store')

type OpenContent = Extract<StoreContent, { kind: 'open' }>

/** What is wrong with a store. `end` is the end of the name of the property to change, if it is not that with the path. */
type StoreHit = Pick<Hit, 'problem' | 'fix' | 'prevents' | 'up' | 'locksOut'> & {
  readonly end?: string
  readonly effect?: string
}

/** A check of each store of a server; `find` returns what is wrong with it and how to fix it. */
const ofStore = (
  code: string,
  severity: Severity,
  find: (
    use: OwnedStoreUse,
    content: StoreContent | undefined,
    server: Server,
    input: CheckInput,
  ) => StoreHit | undefined,
): Check => ({
  code,
  severity,
  find: (server, input) =>
    storeUses(server).flatMap((use) => {
      const found = find(use, input.facts.storeOf(use), server, input)
      if (!found) return []
      const {
        end,
        effect = effects[`${use.owner} ${use.kind}`],
        locksOut = lockedOutBy(use),
        ...rest
      } = found
      const property = end === undefined ? use.property : `${use.owner}.${end}`
      const at = placeOf(server, server.properties.has(property) ? property : use.property)
      return [{ ...rest, at, effect, locksOut }]
    }),
})

/**
 * Returns whether a server opens a store when it starts, and does not start if it cannot. The client's stores are opened together, if
 * the extension for them is loaded; stores for directories are opened at the first login.
 */
const opensAtStart = ({ owner }: OwnedStoreUse, server: Server): boolean =>
  owner === 'druid.server.https' ||
  (owner === 'druid.client.https' &&
    server.properties.has('druid.client.https.trustStorePath') &&
    (loadedExtensions(server)?.includes(clientExtension) ?? true))

const preventsStart = (reason: string) =>
  ({
    effect: `The server does not start, because ${reason}.`,
    prevents: 'start',
    up: refusesLikeDruid,
    locksOut: 'everyone',
  }) as const

/** A check of each store that Java may fail to open. */
const ofClosedStore = (code: string, find: Parameters<typeof ofStore>[2]): Check =>
  ofStore(code, 'error', (use, content, server, input) => {
    const found = find(use, content, server, input)
    return found && opensAtStart(use, server)
      ? { ...preventsStart('it opens the store at startup'), ...found }
      : found
  })

/** A check of each store that could be opened. */
const ofOpenStore = (
  code: string,
  find: (
    use: OwnedStoreUse,
    content: OpenContent,
    server: Server,
    input: CheckInput,
  ) => ReturnType<Parameters<typeof ofStore>[2]>,
): Check =>
  ofStore(code, 'error', (use, content, server, input) =>
    content?.kind === 'open' ? find(use, content, server, input) : undefined,
  )

const hasKey = (content: StoreContent | undefined): boolean =>
  content?.kind === 'open' && content.keys.length > 0

/** Returns the store of the same owner that has the other kind. */
const counterpartOf = ({ owner, kind }: OwnedStoreUse, server: Server): OwnedStoreUse | undefined =>
  storeUses(server).find((other) => other.owner === owner && other.kind !== kind) ??
  storeUses(server).find((other) => other.kind !== kind)

const hasKeyPassword = ({ owner }: OwnedStoreUse, server: Server): boolean =>
  server.properties.has(`${owner}.keyManagerPassword`)

/** Finds keys whose password is not set. On its port, Druid uses the password of the store instead; as a client, it does not. */
function missingKeyPassword(
  use: OwnedStoreUse,
  content: StoreContent | undefined,
  server: Server,
): StoreHit | undefined {
  const { owner, kind, path, property } = use
  if (kind !== 'key' || hasKeyPassword(use, server)) return undefined
  const name = `[${owner}.keyManagerPassword]`
  if (content?.kind === 'closed' && content.reason === 'keyPassword')
    return {
      end: 'keyStorePassword',
      problem: `The private key in the key store [${path}] has a different password from the store, but ${name} is not set`,
      fix: `Set ${name} to the password of the key.`,
    }
  return owner === 'druid.client.https' && opensAtStart(use, server)
    ? {
        ...preventsStart('it does not try the password of the key store for the private key'),
        problem: `[${property}] is set, but ${name} is not`,
        fix: `Set ${name} to the password of the key, which is usually that of the store.`,
      }
    : undefined
}

/** Checks of key stores and trust stores: whether they open, and whether they contain what they are for. */
export const storeChecks: readonly Check[] = [
  ofClosedStore('store-missing', (use, content) =>
    content?.kind === 'missing'
      ? {
          problem: `The ${purposeOf(use)} [${use.path}] from [${use.property}] does not exist`,
          fix: 'Use the path of an existing file. If the file has a different path on this machine, add --map.',
        }
      : undefined,
  ),
  ofClosedStore('store-not-a-file', (use, content) =>
    content?.kind === 'notAFile'
      ? {
          problem: `The ${purposeOf(use)} [${use.path}] from [${use.property}] is ${content.is}, not a file`,
          fix: 'Use the path of the file with the store.',
        }
      : undefined,
  ),
  ofClosedStore('store-password-wrong', (use, content) =>
    content?.kind === 'closed' && content.reason === 'password' && use.password !== undefined
      ? {
          end: `${use.kind}StorePassword`,
          problem: `The password in [${use.owner}.${use.kind}StorePassword] does not open the ${purposeOf(use)} [${use.path}]`,
          fix: `Set [${use.owner}.${use.kind}StorePassword] to the password of the store.`,
        }
      : undefined,
  ),
  ofClosedStore('key-password-wrong', (use, content, server) =>
    content?.kind === 'closed' && content.reason === 'keyPassword' && hasKeyPassword(use, server)
      ? {
          end: 'keyManagerPassword',
          problem: `The password in [${use.owner}.keyManagerPassword] does not open the private key in the key store [${use.path}]`,
          fix: `Set [${use.owner}.keyManagerPassword] to the password of the key.`,
        }
      : undefined,
  ),
  ofClosedStore('key-password-missing', missingKeyPassword),
  ofClosedStore('store-format-unknown', (use, content) =>
    content?.kind === 'closed' && content.reason === 'format'
      ? {
          problem: `[${use.path}] from [${use.property}] is neither a JKS nor a PKCS12 store`,
          fix: 'Convert the certificates with keytool -importcert or openssl pkcs12 -export.',
        }
      : undefined,
  ),
  ofStore('store-password-missing', 'error', ({ owner, kind, property, path, password }, content, server) => {
    if (kind === 'key' && !server.properties.has(`${owner}.keyStorePassword`))
      return {
        problem: `[${property}] is set, but [${owner}.keyStorePassword] is not`,
        fix: `Set [${owner}.keyStorePassword].`,
        ...(owner === 'druid.server.https'
          ? preventsStart('it cannot open the store without a password')
          : {}),
      }
    return kind === 'trust' &&
      content?.kind === 'closed' &&
      content.reason === 'password' &&
      password === undefined
      ? {
          problem: `The trust store [${path}] from [${property}] has a password, but [${owner}.trustStorePassword] is not set, so Java reads no certificates from it`,
          fix: `Set [${owner}.trustStorePassword] to the password of the store.`,
        }
      : undefined
  }),
  {
    prevents: 'start',
    ...ofStore('store-type-missing', 'error', ({ owner, property }, _content, server) =>
      owner === 'druid.server.https' &&
      property.endsWith('keyStorePath') &&
      !server.properties.has(`${owner}.keyStoreType`)
        ? {
            problem: `[${property}] is set, but [${owner}.keyStoreType] is not`,
            effect: 'The server does not start: Druid has no default type for key stores.',
            fix: `Set [${owner}.keyStoreType] to jks or pkcs12.`,
          }
        : undefined,
    ),
  },
  ofOpenStore('stores-swapped', (use, content, server, { facts }) => {
    const other = counterpartOf(use, server)
    if (use.kind !== 'key' || hasKey(content) || other === undefined || !hasKey(facts.storeOf(other)))
      return undefined
    return {
      problem: `The key store [${use.path}] contains no private key, but the trust store [${other.path}] does`,
      fix: `Swap the paths in [${use.property}] and [${other.property}], along with their passwords. A trust store must not contain a private key.`,
    }
  }),
  ofOpenStore('key-missing', (use, content, server, { facts }) => {
    const other = counterpartOf(use, server)
    const isSwapped = other !== undefined && hasKey(facts.storeOf(other))
    return use.kind === 'key' && !hasKey(content) && !isSwapped
      ? {
          problem: `The key store [${use.path}] from [${use.property}] contains no private key`,
          fix: 'Import the private key with its certificate.',
        }
      : undefined
  }),
  ofOpenStore('alias-unknown', (use, content) =>
    use.kind === 'key' &&
    use.alias !== undefined &&
    hasKey(content) &&
    usedKey(content, use.alias) === undefined
      ? {
          end: 'certAlias',
          problem: `The key store [${use.path}] has no key with the alias [${use.alias}]: expected one of [${content.keys.map(({ alias }) => alias).join(', ')}]`,
          effect: 'Every TLS connection fails, although the server starts and reports no error.',
          fix: `Set [${use.owner}.certAlias] to the alias of a key in the store, or remove the property.`,
        }
      : undefined,
  ),
  ofOpenStore('key-mismatch', (use, content) => {
    const key = use.kind === 'key' ? usedKey(content, use.alias) : undefined
    return key && !key.matches
      ? {
          problem: `The private key [${key.alias}] in the key store [${use.path}] does not match its certificate`,
          fix: 'Import the key again together with the certificate that was issued for it.',
        }
      : undefined
  }),
  ofOpenStore('trust-store-empty', (use, content) =>
    use.kind === 'trust' && content.trusted.length === 0 && content.keys.length === 0
      ? {
          problem: `The trust store [${use.path}] from [${use.property}] contains no certificate`,
          fix: 'Import the CA certificate with keytool -importcert -trustcacerts.',
        }
      : undefined,
  ),
]
