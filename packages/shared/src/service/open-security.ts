import type { IncomingMessage } from 'node:http'
import { describeError } from '@svc/domain/failure'
import { baseUrlOf } from '../discovery/index.ts'
import type { SharedThrottle } from '../login-throttle/index.ts'
import { renewCredentials } from '../postgres/index.ts'
import { createProblemLog, systemClock } from '../runtime/index.ts'
import {
  callerAddressHeader,
  createAddressReader,
  createSecurity,
  openLdapLogins,
  type Security,
  type UsersSource,
} from '../security/index.ts'
import type { SecurityAudit } from '../security-audit/index.ts'
import { exitWithMessage } from './configuration.ts'
import type { ServiceContext } from './context.ts'
import { refusedLoginLog } from './refusal-logs.ts'

/** Creates security with LDAP directories, the login throttle, and the audit log. */
export async function openSecurity(
  {
    settings,
    database,
    escalator,
    logger,
  }: Pick<ServiceContext, 'settings' | 'database' | 'escalator' | 'logger'>,
  audit: SecurityAudit,
  throttle: SharedThrottle | undefined,
  users: UsersSource,
): Promise<Security> {
  const logRefused = refusedLoginLog(logger, settings.get('svc.escalator.internalClientUsername'))
  const problemLog = createProblemLog(logger)
  try {
    return createSecurity(settings, users, {
      onRefused: (user, origin, failure, knownAs) => {
        // A login that was not verified may be correct.
        if (failure.reason !== 'TOO_MANY_LOGINS') logRefused(user, origin, failure)
        audit.loginFailed(user, origin, knownAs, failure)
      },
      escalator,
      onLogin: audit.loggedIn,
      onUse: audit.used,
      onOutdated: async (authenticator, user, outdated, renewed) => {
        await renewCredentials(database, authenticator, user, outdated, renewed)
        logger.info('Rehashed a password with the current parameters', { authenticator, user })
      },
      ...(throttle ? { throttle } : {}),
      directories: await openLdapLogins(settings, () => performance.now(), problemLog.report),
    })
  } catch (error) {
    return exitWithMessage(describeError(error))
  }
}

/** Returns a function that reads the caller address forwarded by the router, and logs invalid headers. */
export function callerAddressOf({
  escalator,
  node,
  logger,
}: Pick<ServiceContext, 'escalator' | 'node' | 'logger'>) {
  const read = createAddressReader(escalator, () => baseUrlOf(node()), systemClock.now)
  const problemLog = createProblemLog(logger)
  return (request: IncomingMessage): string | undefined => {
    const header = request.headers[callerAddressHeader]
    if (header === undefined) return undefined
    const { method = '', url: path = '', headers } = request
    const result = read(String(header), { method, path, authorization: headers.authorization })
    if (result.kind === 'valid') return result.address
    problemLog.report(`Ignored a forwarded caller address: ${result.reason}`, {
      peer: request.socket.remoteAddress,
    })
    return undefined
  }
}
