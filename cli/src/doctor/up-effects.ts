/** What `./svc up --config` does with a configuration because of a finding. */
export interface UpEffect {
  /** Whether the cluster starts. */
  readonly starts: boolean
  /** A sentence, without the subject. */
  readonly text: string
}

const starts = (text: string): UpEffect => ({ starts: true, text })
const refuses = (text: string): UpEffect => ({ starts: false, text })

/** The cluster does the same as Druid. */
export const sameEffect = starts('Starts, with the same effect.')
export const refusesLikeDruid = refuses('Refuses to start, because Druid does not start either.')
/** svc checks at startup what Druid notices at the first login or call. */
export const refusesUnlikeDruid = refuses('Refuses to start, although Druid starts.')
const refusesStores = refuses('Refuses to start, because svc checks all stores at startup.')
/** Changed if another finding makes the cluster use the stores of the configuration. */
export const ownCertificates = starts('Starts without this problem, because svc uses its own certificates.')
const directoryUnavailable = starts(
  'Starts, but logins that need the directory get status 503 instead of 401.',
)
export const neverReady = starts(
  'Starts the servers, but the cluster does not become ready: servers reject calls from each other.',
)
const notUsed = (what: string): UpEffect => starts(`Starts without this problem, because svc ${what}.`)
/** What Druid requires, and svc does not. */
export const startsAnyway = notUsed('does not need the property')
/** For filters that `String.format` of Java rejects. */
export const fillsEveryPlaceholder = notUsed('replaces every %s and keeps other percent signs')
/** For a group pattern that svc accepts. */
export const matchesEveryGroup = starts('Starts, and the pattern matches every group.')
/** For certificates that svc does not check at startup. */
export const failsBetweenServers = starts('Starts the servers, but TLS connections between them fail.')
/** For a problem of servers that an svc cluster does not have, such as middle managers. */
export const noSuchServer = starts('Starts without this problem, because the cluster has no such server.')

/** The effect for each code, unless a check returns a different one with its finding. */
const effects: Readonly<Record<string, UpEffect>> = {
  'login-not-required': sameEffect,
  'list-empty': refusesLikeDruid,
  'name-repeated': refusesLikeDruid,
  'anonymous-allowed': sameEffect,
  'authenticator-undefined': refusesLikeDruid,
  'authenticator-unused': sameEffect,
  'authenticator-unreachable': sameEffect,
  'internal-user-hidden': neverReady,
  'initial-password-missing': sameEffect,
  'extension-not-loaded': refusesLikeDruid,
  'authorizer-undefined': refusesLikeDruid,
  'authorizer-unknown': refusesUnlikeDruid,
  'authorizers-not-set': sameEffect,
  'everything-allowed': sameEffect,
  'directory-groups-ignored': sameEffect,
  'group-pattern-invalid': refusesUnlikeDruid,
  'administrator-group-filtered': sameEffect,
  'administrator-missing': sameEffect,
  'escalator-missing': refusesUnlikeDruid,
  'escalator-incomplete': refusesUnlikeDruid,
  'escalator-differs': neverReady,
  'escalator-password-wrong': neverReady,
  'internal-user-not-created': notUsed('creates the user of the escalator'),
  'internal-user-not-checked': sameEffect,
  'escalator-authorizer-unknown': refusesUnlikeDruid,
  'logins-differ': sameEffect,
  'password-public': sameEffect,
  'password-empty': sameEffect,
  'password-blank': sameEffect,
  'value-malformed': refusesLikeDruid,
  'password-provider-unknown': refusesLikeDruid,
  'value-unknown': starts('Leaves the property out, and refuses to start if the property is required.'),
  'directory-not-used': sameEffect,
  'directory-properties-unused': sameEffect,
  'directory-url-invalid': refusesUnlikeDruid,
  'directory-plaintext': sameEffect,
  'directory-port-swapped': directoryUnavailable,
  'directory-base-invalid': directoryUnavailable,
  'directory-filter-missing': notUsed('uses the filter [(uid=%s)]'),
  'directory-filter-invalid': refusesUnlikeDruid,
  'directory-password-missing': refusesUnlikeDruid,
  'directory-bind-swapped': directoryUnavailable,
  'directory-trust-missing': refusesUnlikeDruid,
  'directory-host-validated': sameEffect,
  'directory-unreachable': directoryUnavailable,
  'directory-untrusted': directoryUnavailable,
  'directory-bind-refused': directoryUnavailable,
  'directory-base-unknown': directoryUnavailable,
  'directory-search-refused': directoryUnavailable,
  'directory-finds-nobody': sameEffect,
  'directory-lacks-internal-user': neverReady,
  'ports-closed': refusesLikeDruid,
  'key-store-missing': refusesLikeDruid,
  'client-trust-missing': ownCertificates,
  'client-extension-not-loaded': ownCertificates,
  'client-certificates-unverifiable': ownCertificates,
  'client-key-missing': ownCertificates,
  'store-missing': refusesStores,
  'store-not-a-file': refusesStores,
  'store-password-wrong': refusesStores,
  'key-password-wrong': refusesStores,
  'key-password-missing': refusesLikeDruid,
  'store-format-unknown': refusesStores,
  'store-password-missing': ownCertificates,
  'store-type-missing': refusesLikeDruid,
  'stores-swapped': refusesStores,
  'key-missing': refusesStores,
  'alias-unknown': refusesStores,
  'key-mismatch': refusesStores,
  'trust-store-empty': refusesStores,
  'java-trust-store-not-a-file': notUsed("does not use Java's trust store"),
  'java-trust-store-missing': notUsed("does not use Java's trust store"),
  'java-trust-store-closed': notUsed("does not use Java's trust store"),
  'java-trust-store-empty': notUsed("does not use Java's trust store"),
  'certificate-expired': refusesStores,
  'certificate-not-yet-valid': refusesStores,
  'certificate-expires-soon': ownCertificates,
  'host-not-in-certificate': failsBetweenServers,
  'certificate-untrusted': failsBetweenServers,
  'chain-incomplete': failsBetweenServers,
  'host-not-validated': sameEffect,
  'server-certificate-old': notUsed('starts its own servers'),
  'server-refused': notUsed('starts its own servers'),
  'path-unsecured': sameEffect,
  'path-pattern-ineffective': refusesUnlikeDruid,
  'plaintext-open': sameEffect,
  'tls-off': sameEffect,
  'properties-shown': notUsed('never shows passwords'),
  'javascript-enabled': notUsed('does not run JavaScript'),
  'options-open': sameEffect,
  'property-misspelled': sameEffect,
  'escape-invalid': refusesLikeDruid,
  'backslash-ignored': sameEffect,
  'line-continued': sameEffect,
  'property-repeated': sameEffect,
  'value-invalid': refusesLikeDruid,
  'type-ignored': refusesUnlikeDruid,
  'tls-value-invalid': refusesLikeDruid,
  'tls-names-unknown': refusesLikeDruid,
  'tls-name-ignored': notUsed('ignores the property'),
  'directory-tls-invalid': refusesUnlikeDruid,
  'value-spaces': notUsed('ignores the spaces'),
  'byte-order-mark': sameEffect,
  'file-not-utf8': sameEffect,
  'include-ignored': sameEffect,
}

/** Returns the effect of findings with a code. Throws if there is none; a test checks that all codes have one. */
export function upEffectOf(code: string): UpEffect {
  const effect = effects[code]
  if (!effect) throw new Error(`Missing effect of finding [${code}] on svc up`)
  return effect
}
