import { connect, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import type { DirectoryProblem, LoginVerdict } from '@svc/domain/access'
import { describeError, Failure } from '@svc/domain/failure'
import type { Client } from 'ldapts'
import { ldapErrorText } from './ldap-error-text.ts'
import { createLdapGuard, LdapUnavailable } from './ldap-guard.ts'
import type { LdapSettings } from './ldap-settings.ts'

/** A connection to a directory, for one request. */
export interface LdapConnection {
  readonly client: Client
  /** Whether the directory has responded on it. */
  hasAnswered: boolean
}

/** Called when a directory has a problem. */
export type OnProblem = (text: string, details: object) => void

/** Sends requests to one directory. */
export interface LdapRequests {
  /** Runs a request over a new connection, unless the directory is paused because it did not respond. */
  run<Answer>(
    request: (connection: LdapConnection) => Promise<Answer>,
  ): Promise<Answer | Extract<LoginVerdict, { kind: 'unavailable' }>>
}

/**
 * A failed request that does not mean that the directory is unavailable: it closed the connection because of one name.
 */
class RefusedName extends Error {}

/** The directory rejected the bind user, so it cannot check any login. */
export class BindRejected extends Error {}

// The library reports timeouts only in the message.
const isLate = (error: unknown): boolean =>
  error instanceof Error && /timed out$|^Connection timeout$/.test(error.message)

function problemOf(error: unknown): DirectoryProblem {
  if (error instanceof BindRejected) return { kind: 'bindRejected', error: error.message }
  if (error instanceof LdapUnavailable)
    return { kind: error.isRepeated ? 'paused' : 'timeout', error: error.message }
  return { kind: isLate(error) ? 'timeout' : 'failed', error: ldapErrorText(error) }
}

/** Creates the requests to the directory of authenticator `name`. */
export function createLdapRequests(
  ldap: typeof import('ldapts'),
  name: string,
  settings: LdapSettings,
  onProblem: OnProblem,
): LdapRequests {
  const guard = createLdapGuard(
    settings.readTimeoutMs,
    (error) => !(error instanceof RefusedName) && !(error instanceof Failure),
  )

  async function runNow<Answer>(
    request: (connection: LdapConnection) => Promise<Answer>,
    signal: AbortSignal,
  ): Promise<Answer> {
    const { client, close, destroy } = createClient(ldap, settings)
    const connection: LdapConnection = { client, hasAnswered: false }
    signal.addEventListener('abort', destroy)
    try {
      return await request(connection)
    } catch (error) {
      // The directory works for other names, so a login with this one must not affect them.
      if (connection.hasAnswered && !isLate(error)) throw new RefusedName(describeError(error))
      throw error
    } finally {
      close()
    }
  }

  return {
    run: async (request) => {
      try {
        return await guard.run((signal) => runNow(request, signal))
      } catch (error) {
        // Too many concurrent logins are not a problem of the directory.
        if (error instanceof Failure) throw error
        if (!(error instanceof LdapUnavailable) || !error.isRepeated)
          onProblem(
            `The directory of authenticator [${name}] is unavailable; returning 503 for logins that need it`,
            { url: settings.url, error: describeError(error) },
          )
        return {
          kind: 'unavailable',
          message: `The directory of authenticator [${name}] is unavailable; try again`,
          problem: problemOf(error),
        }
      }
    },
  }
}

/** Creates a client that connects with its first message, and whose connection can be closed in any state. */
function createClient(
  ldap: typeof import('ldapts'),
  { url, connectTimeoutMs, readTimeoutMs, tlsOptions }: LdapSettings,
) {
  let socket: Socket | undefined
  const kept = <Opened extends Socket>(opened: Opened): Opened => {
    socket = opened
    return opened
  }
  const destroy = () => socket?.destroy()
  const client = new ldap.Client({
    url,
    connectTimeout: connectTimeoutMs,
    timeout: readTimeoutMs,
    strictDN: false,
    createConnection: ((port: number, host: string) => kept(connect(port, host))) as typeof connect,
    createSecureConnection: ((port: number, host: string, options: ConnectionOptions) =>
      kept(connectTls(port, host, options))) as typeof connectTls,
    ...(tlsOptions ? { tlsOptions } : {}),
  })
  const close = () => {
    client
      .unbind()
      .catch(() => undefined)
      .finally(destroy)
  }
  return { client, close, destroy }
}
