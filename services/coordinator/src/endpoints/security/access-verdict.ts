import { chainFailure, type ExplainedAccess, resourceText } from '@svc/domain/access'
import { allowsAnonymous, requiresLogin, type Settings } from '@svc/shared/config'
import type { Access } from '@svc/shared/http'
import {
  allowsEverything,
  loginChain,
  passwordTest,
  type Recognition,
  type UsersAndRoles,
  unsecuredPaths,
} from '@svc/shared/security'

/** Whether a request is allowed, and why. */
export interface Verdict {
  /** Null if it depends on what the request contains. */
  readonly allowed: boolean | null
  readonly because: string
}

/** A request to decide about. */
export interface JudgedRequest {
  /** The typed user name. */
  readonly user: string
  readonly path: string
  /** What the endpoint requires. */
  readonly access: Access
  /** The permission that the endpoint needs, without a name if it depends on the request; undefined if it needs none. */
  readonly needed: ExplainedAccess | undefined
  /** Whether a role of the user grants the needed permission; null if it depends on the request. */
  readonly isGranted: boolean | null
  /** The authorizer that the explanation was requested for. */
  readonly requestedAuthorizer: string
  /** The authorizer that decides. */
  readonly authorizer: string
}

type KnownUser = Extract<Recognition, { kind: 'known' }>

const allowed = (because: string): Verdict => ({ allowed: true, because })
const denied = (because: string): Verdict => ({ allowed: false, because })

/** Decides about a request of a user with the right password. */
export function verdictOf(
  settings: Settings,
  stored: UsersAndRoles,
  recognition: Recognition,
  request: JudgedRequest,
): Verdict {
  const withoutLogin = verdictWithoutLogin(settings, request)
  if (withoutLogin) return withoutLogin
  if (recognition.kind !== 'known') {
    const { because } =
      recognition.kind === 'unchecked'
        ? recognition
        : chainFailure(loginChain(settings), passwordTest(stored), request.user, recognition)
    return denied(
      recognition.kind === 'unavailable'
        ? `${because}. While the directory is unavailable, logins as [${request.user}] fail with 503, and directory groups are not looked up`
        : `[${request.user}] cannot log in. ${because}`,
    )
  }
  const verdict = verdictForUser(settings, recognition, request)
  const notes = loginNotes(settings, recognition, request)
  return { ...verdict, because: [...notes, verdict.because].join('. ') }
}

/** Returns the verdict for paths that need no login, or undefined if a login is needed. */
function verdictWithoutLogin(settings: Settings, { access, path }: JudgedRequest): Verdict | undefined {
  if (access.kind === 'open') return allowed('The endpoint requires no login')
  if (!unsecuredPaths(settings)(path.split('?', 1)[0] as string)) return undefined
  return access.kind === 'internal'
    ? denied(
        'Only servers may call this endpoint, but its path is in [svc.auth.unsecuredPaths], so callers are not identified as servers',
      )
    : allowed('The path is in [svc.auth.unsecuredPaths], so it requires neither a login nor a permission')
}

/** Returns what to know about the login before the verdict makes sense. */
function loginNotes(
  settings: Settings,
  { authenticator, identity }: KnownUser,
  { user, requestedAuthorizer, authorizer }: JudgedRequest,
): string[] {
  const internalUser = settings.get('svc.escalator.internalClientUsername')
  const networks = settings.get('svc.auth.internalClientAllowedNetworks')
  const notes: string[] = []
  if (identity !== user) notes.push(`User [${user}] gets the identity [${identity}] at login`)
  if (identity === internalUser && networks.length > 0)
    notes.push(`[${internalUser}] can log in only from [${networks.join(', ')}]`)
  if (authorizer !== requestedAuthorizer)
    notes.push(
      `Authorizer [${requestedAuthorizer}] does not apply: the user belongs to authenticator [${authenticator}], which uses authorizer [${authorizer}]`,
    )
  return notes
}

/** Returns the verdict for a user who can log in. */
function verdictForUser(
  settings: Settings,
  who: KnownUser,
  { access, authorizer, needed, isGranted }: JudgedRequest,
): Verdict {
  if (access.kind === 'internal') return verdictForServer(settings, who)
  if (allowsEverything(settings, authorizer)) return allowed('The authorizer allows everything')
  if (!needed) return allowed("Any login is sufficient; the response is filtered by the user's permissions")
  const { action, type, name } = needed
  if (access.kind === 'stated' && isGranted === null) {
    const because = `The user needs [${action}] on ${access.about}`
    return { allowed: null, because }
  }
  const resource = name === undefined ? `any [${type}]` : resourceText(type, name)
  return isGranted
    ? allowed(`One of the user's roles grants [${action}] on ${resource}`)
    : denied(`None of the user's roles grants [${action}] on ${resource}`)
}

/** Returns the verdict for an endpoint that only servers may call. */
function verdictForServer(settings: Settings, { authenticator, identity }: KnownUser): Verdict {
  if (!requiresLogin(settings))
    return allowed('No login is required, so everyone may call internal endpoints')
  const internalUser = settings.get('svc.escalator.internalClientUsername')
  return identity === internalUser && !allowsAnonymous(settings, authenticator)
    ? allowed(`The endpoint is for servers, and [${identity}] is the internal user`)
    : denied(`Only servers may call this endpoint: the caller must be the internal user [${internalUser}]`)
}
