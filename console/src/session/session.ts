import { useSyncExternalStore } from 'react'
import type { CallerAnswer } from '../answers/index.ts'
import { byteCharacters } from '../formats/index.ts'

/** What this tab knows about its user. Credentials stay in memory, so closing or reloading the tab logs out. */
export interface Session {
  /**
   * `unknown` until the first response, and `ended` if the cluster no longer accepts the login: then the page keeps
   * everything for the same user.
   */
  readonly state: 'unknown' | 'loggedOut' | 'loggedIn' | 'ended'
  /** The Authorization header; undefined without a login, which some clusters do not require. */
  readonly authorization: string | undefined
  /** The last user who logged in; empty before the first login. */
  readonly user: string
  /** What the user could do when logging in; undefined without a cluster. */
  readonly caller: CallerAnswer | undefined
}

let session: Session = { state: 'unknown', authorization: undefined, user: '', caller: undefined }
const listeners = new Set<() => void>()
const forgetters = new Set<() => void>()
const repeaters = new Set<() => void>()

function setSession(next: Session): void {
  session = next
  for (const listener of listeners) listener()
}

/** Returns the current session. */
export const currentSession = (): Session => session

/** Returns the current session, and renders again when it changes. */
export function useSession(): Session {
  return useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, currentSession)
}

/** Calls a function that forgets data of the user before another user sees the page. */
export const onUserChange = (forget: () => void): void => {
  forgetters.add(forget)
}

/** Calls a function that repeats what failed once the same user has logged in again. */
export const onLoginAgain = (repeat: () => void): void => {
  repeaters.add(repeat)
}

/** Starts a session that needs no login. */
export const openSession = (user: string): void =>
  setSession({ state: 'loggedIn', authorization: undefined, user, caller: undefined })

/**
 * Marks the session as ended by the cluster, which refused a header: the page shows the login form, and keeps everything
 * else. Does nothing if the header is that of an earlier session.
 */
export function endSession(authorization: string | undefined): void {
  if (session.state === 'loggedIn' && session.authorization === authorization)
    setSession({ ...session, state: 'ended', authorization: undefined })
}

/** Ends the session on request of its user: the page shows nothing of the cluster until the next login. */
export const logOut = (): void => setSession({ ...session, state: 'loggedOut', authorization: undefined })

/** Logs in, or checks that no login is needed if both are empty. Returns why the login failed, or undefined. */
export async function logIn(name: string, password: string): Promise<string | undefined> {
  const authorization = name === '' && password === '' ? undefined : basicAuthorization(name, password)
  const response = await fetch('/svc/router/v1/caller', {
    credentials: 'omit',
    cache: 'no-store',
    headers: authorization === undefined ? {} : { Authorization: authorization },
  }).catch(() => undefined)
  if (response === undefined) return 'The router is unreachable. Check that the cluster is running.'
  if (response.status === 401) {
    if (session.state === 'unknown') logOut()
    // Without a login, there was nothing to check.
    return authorization === undefined ? undefined : `Wrong name or password.${whyHint(response)}`
  }
  if (response.status === 429)
    return `Too many failed logins. Wait a moment, then try again.${whyHint(response)}`
  if (!response.ok)
    return `The router returned status ${response.status}. Try again in a moment.${whyHint(response)}`
  const caller = await callerIn(response)
  if (caller === undefined) return 'The connection was lost. Try again.'
  const { identity } = caller
  const lastUser = session.user
  if (lastUser !== '' && lastUser !== identity) for (const forget of forgetters) forget()
  setSession({ state: 'loggedIn', authorization, user: identity, caller })
  if (lastUser === identity) for (const repeat of repeaters) repeat()
  return undefined
}

/** Returns the caller in a response; undefined if the connection was lost before its end. */
const callerIn = (response: Response): Promise<CallerAnswer | undefined> =>
  response.json().then(
    (answer) => answer as CallerAnswer,
    () => undefined,
  )

/** Returns how an administrator finds out why a login failed: the response does not reveal it. */
function whyHint(response: Response): string {
  const id = response.headers.get('X-Request-Id')
  return id === null ? '' : ` An administrator can find out why with the request ID ${id}.`
}

/** Returns a header for HTTP basic authentication in UTF-8. */
const basicAuthorization = (name: string, password: string): string =>
  `Basic ${btoa(inBytes(`${name}:${password}`))}`

/** Returns the UTF-8 bytes of a text as characters, which is what headers can carry. */
export const inBytes = (text: string): string => byteCharacters(new TextEncoder().encode(text))
