import { similarName } from '@svc/domain/validation'
import { properties } from '@svc/shared/config'
import type { Check } from '../findings.ts'
import { authorizersProperty, chainProperty } from '../logins.ts'

/** Properties of Druid's security that svc does not have. */
const druidOnly = [
  ...['pollingPeriod', 'maxRandomDelay', 'maxSyncRetries', 'cacheDirectory'].map(
    (end) => `druid.auth.basic.common.${end}`,
  ),
  'druid.auth.authenticator.<name>.credentialIterations',
  'druid.auth.authenticator.<name>.cacheNotificationTimeout',
  'druid.auth.authenticator.<name>.credentialsValidator.credentialIterations',
  'druid.auth.authorizer.<name>.enableCacheNotifications',
  'druid.auth.authorizer.<name>.cacheNotificationTimeout',
  'druid.auth.basic.composition.enabled',
  ...['keyManagerFactoryAlgorithm', 'includeCipherSuites', 'excludeCipherSuites', 'includeProtocols'].map(
    (end) => `druid.server.https.${end}`,
  ),
  'druid.server.https.excludeProtocols',
  'druid.server.https.trustStoreAlgorithm',
  ...['keyManagerFactoryAlgorithm', 'trustStoreAlgorithm'].map((end) => `druid.client.https.${end}`),
]

/** Every property that Druid's security has, as far as svc knows it. */
const known = [
  ...Object.keys(properties)
    .filter((name) => /^svc\.(auth|escalator|server\.https|client\.https|enable)/.test(name))
    .map((name) => name.replace(/^svc\./, 'druid.')),
  ...druidOnly,
  chainProperty,
  authorizersProperty,
]

/** Other lines may be parts of a value, even of a password. */
const isPropertyName = (name: string): boolean => /^[A-Za-z][\w-]*(\.[\w-]+)+$/.test(name)

/** Checks of the spelling of properties: Druid ignores those that it does not know. */
export const nameChecks: readonly Check[] = [
  {
    code: 'property-misspelled',
    severity: 'error',
    find: (server) =>
      [...server.properties.values()].flatMap((property) => {
        if (!/^druid\.(auth|escalator|server\.https|client\.https|enable)/.test(property.name)) return []
        const [, name = ''] = /^druid\.auth\.auth(?:enticator|orizer)\.([^.]+)\./.exec(property.name) ?? []
        const expected = known.map((one) => one.replace('<name>', () => name || '<name>'))
        if (expected.includes(property.name)) return []
        const near = similarName(property.name, expected)
        if (near === undefined) return []
        return [
          {
            at: property,
            problem: `[${property.name}] is not a Druid property, but [${near}] is`,
            effect: 'Druid silently ignores the property, so the default applies.',
            fix: `Use [${near}].`,
          },
        ]
      }),
  },
  {
    code: 'line-continued',
    severity: 'error',
    find: (server, { configuration }) =>
      configuration.continuations
        .filter(({ file, name }) => isPropertyName(name) && server.properties.get(name)?.file === file)
        .map(({ file, name, line, swallowed }) => ({
          at: { file, line },
          problem: `The line ends with a backslash, so the next line is part of the value of [${name}]`,
          effect:
            swallowed === undefined
              ? `The value of [${name}] ends with the text of a comment.`
              : `[${swallowed}] is not set, and the value of [${name}] ends with the text of that line.`,
          fix: 'Remove the backslash at the end of the line. To end a value with a backslash, write two.',
        })),
  },
  {
    code: 'escape-invalid',
    severity: 'error',
    prevents: 'start',
    locksOut: 'everyone',
    find: (server, { configuration: { commonFile, invalidEscapes } }) =>
      invalidEscapes
        .filter(({ file, backslash }) => backslash === 'fails' && [commonFile, server.file].includes(file))
        .map(({ file, line }) => ({
          at: { file, line },
          problem: String.raw`The line contains \u without four hexadecimal digits after it`,
          effect: 'The server does not start: Java cannot read the file.',
          fix: 'Write two backslashes for each backslash in the value.',
        })),
  },
  {
    code: 'backslash-ignored',
    severity: 'warning',
    find: (server, { configuration }) =>
      configuration.invalidEscapes
        .filter(({ backslash, name }) => backslash === 'ignores' && isPropertyName(name))
        .filter(({ name }) => /^druid\.(auth|escalator|host|(client|server)\.https)\b/.test(name))
        .filter(({ file, line, name }) => {
          const used = server.properties.get(name)
          return used?.file === file && used.line === line
        })
        .map(({ file, line, name }) => ({
          at: { file, line },
          problem: `The value of [${name}] contains a single backslash`,
          effect: 'Java ignores the backslash, so the value does not match the intended text.',
          fix: 'Write two backslashes for each backslash in the value.',
        })),
  },
  {
    code: 'property-repeated',
    severity: 'warning',
    find: (server, { configuration }) =>
      configuration.repetitions
        .filter(({ file, name }) => server.properties.get(name)?.file === file)
        .filter(({ name }) => isPropertyName(name))
        .map(({ file, name, line, lastLine }) => ({
          at: { file, line: lastLine },
          problem: `[${name}] is also set on line ${line} of the same file`,
          effect: `Line ${lastLine} takes effect, and line ${line} is ignored.`,
          fix: 'Remove one of the two lines.',
        })),
  },
]
