import { flagOf, listOf, placeOf, type Server, textOf } from '../configuration.ts'
import type { Check, Hit } from '../findings.ts'
import { requiresBasicLogin } from '../logins.ts'
import { servesTls } from '../stores.ts'

const pathsProperty = 'druid.auth.unsecuredPaths'
const hiddenProperty = 'druid.server.hiddenProperties'

/** Paths that Druid opens to everyone in any case. */
const openPaths = new Set([
  '/status/health',
  '/status/ready',
  '/druid/coordinator/v1/isLeader',
  '/druid/indexer/v1/isLeader',
])

/** Checks of what is open to callers without a login, or without a permission. */
export const exposureChecks: readonly Check[] = [
  { code: 'path-unsecured', severity: 'error', find: unsecured },
  {
    code: 'path-pattern-ineffective',
    severity: 'warning',
    find: (server) =>
      (listOf(server, pathsProperty) ?? [])
        .filter((path) => /\*/.test(path.replace(/\/\*$/, '')) || !path.startsWith('/'))
        .map((path) => ({
          at: placeOf(server, pathsProperty),
          problem: `[${pathsProperty}] contains [${path}], which matches no path`,
          effect: 'The intended paths still require a login.',
          fix: 'Use a complete path, or a prefix followed by /*.',
        })),
  },
  {
    code: 'plaintext-open',
    severity: 'error',
    find: (server) =>
      servesTls(server) && flagOf(server, 'druid.enablePlaintextPort', true)
        ? [
            {
              at: placeOf(
                server,
                server.properties.has('druid.enablePlaintextPort')
                  ? 'druid.enablePlaintextPort'
                  : 'druid.enableTlsPort',
              ),
              problem: `[druid.enableTlsPort] is [true], but [druid.enablePlaintextPort] is ${server.properties.has('druid.enablePlaintextPort') ? 'also [true]' : 'not set and defaults to true'}`,
              effect:
                'The API is also available without TLS, so passwords and data can still be sent unencrypted.',
              fix: 'Set [druid.enablePlaintextPort] to false.',
            },
          ]
        : [],
  },
  {
    code: 'tls-off',
    severity: 'warning',
    find: (server) =>
      requiresBasicLogin(server) && !servesTls(server) && flagOf(server, 'druid.enablePlaintextPort', true)
        ? [
            {
              at: placeOf(server, 'druid.enableTlsPort'),
              problem: 'Logins are required, but [druid.enableTlsPort] is not [true]',
              effect: 'Passwords are sent unencrypted, including between servers.',
              fix: 'Set [druid.enableTlsPort] to true and configure a key store, unless something else encrypts all connections.',
            },
          ]
        : [],
  },
  {
    code: 'properties-shown',
    severity: 'error',
    find: (server) => {
      const hidden = listOf(server, hiddenProperty)
      if (hidden === undefined || hidden.some((name) => name.toLowerCase() === 'password')) return []
      return [
        {
          at: placeOf(server, hiddenProperty),
          problem: `[${hiddenProperty}] does not contain [password]`,
          effect: 'GET /status/properties shows the passwords in this configuration.',
          fix: 'Add "password", "key", "token", and "pwd" to the list, or remove the property: its default hides passwords.',
        },
      ]
    },
  },
  {
    code: 'javascript-enabled',
    severity: 'warning',
    find: (server) =>
      flagOf(server, 'druid.javascript.enabled', false)
        ? [
            {
              at: placeOf(server, 'druid.javascript.enabled'),
              problem: '[druid.javascript.enabled] is [true]',
              effect: 'Anyone who can submit a query or task can run arbitrary code on the servers.',
              fix: 'Set the property to false, unless you trust every user with control of the servers.',
            },
          ]
        : [],
  },
  {
    code: 'options-open',
    severity: 'info',
    find: (server) =>
      textOf(server, 'druid.auth.allowUnauthenticatedHttpOptions') === 'true'
        ? [
            {
              at: placeOf(server, 'druid.auth.allowUnauthenticatedHttpOptions'),
              problem: '[druid.auth.allowUnauthenticatedHttpOptions] is [true]',
              effect: 'OPTIONS requests need no login. They show which methods a path supports.',
              fix: 'Remove the property, unless a browser application needs it.',
            },
          ]
        : [],
  },
]

function unsecured(server: Server): Hit[] {
  return (listOf(server, pathsProperty) ?? [])
    .filter((path) => path.startsWith('/') && !/\*/.test(path.replace(/\/\*$/, '')) && !openPaths.has(path))
    .map((path) => ({
      at: placeOf(server, pathsProperty),
      problem: `[${pathsProperty}] contains [${path}]`,
      effect: path.endsWith('/*')
        ? `Anyone can access every path under [${path.slice(0, -1)}] without logging in and without any permissions.`
        : 'Anyone can access this path without logging in and without any permissions.',
      fix: 'Remove the path. For health checks, use /status/health, which never requires a login.',
    }))
}
