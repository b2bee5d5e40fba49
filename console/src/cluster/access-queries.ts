import type { AuthenticatorStep } from '@svc/domain/access'
import { useQuery } from '@tanstack/react-query'
import type { PermissionJson, UsersAndRoles } from '../answers/index.ts'
import { fetchJson, send } from '../session/index.ts'
import { retryMs } from './refetching.ts'

const base = '/proxy/coordinator/svc-ext/basic-security'

/** Fetches the users and roles of the first authenticator and the first authorizer. */
export async function fetchUsersAndRoles(): Promise<UsersAndRoles> {
  const [authenticator, authorizer] = await Promise.all([
    firstName('authentication'),
    firstName('authorization'),
  ])
  const loginsPath = authenticator && `${base}/authentication/db/${encodeURIComponent(authenticator)}/users`
  const accountsPath = `${base}/authorization/db/${encodeURIComponent(authorizer ?? '')}`
  // First, so that the rest is never older than this version.
  const response = await send(`${accountsPath}/cachedSerializedUserMap`)
  const accounts = (await response.json()) as {
    userMap: UsersAndRoles['users']
    roleMap: UsersAndRoles['roles']
  }
  const [groups, logins] = await Promise.all([
    fetchJson<{ groupMappingMap: UsersAndRoles['mappings'] }>(
      `${accountsPath}/cachedSerializedGroupMappingMap`,
    ),
    loginsPath === undefined ? [] : fetchJson<string[]>(loginsPath),
  ])
  return {
    loginsPath,
    accountsPath,
    users: accounts.userMap,
    roles: accounts.roleMap,
    mappings: groups.groupMappingMap,
    logins,
    version: response.headers.get('etag') ?? undefined,
  }
}

/** The users and roles that can be changed. */
export const useUsersAndRoles = (isAllowed: boolean) =>
  useQuery({
    queryKey: ['access'],
    queryFn: fetchUsersAndRoles,
    enabled: isAllowed,
    refetchInterval: retryMs,
  })

/** The name of the first authenticator or authorizer that stores users; undefined if there is none. */
const firstName = async (kind: 'authentication' | 'authorization'): Promise<string | undefined> =>
  Object.keys(await fetchJson<object>(`${base}/${kind}/loadStatus`))[0]

/** Why a request of a user is allowed or not, step by step. */
export interface AccessAnswer {
  /** Null if it depends on the request. */
  readonly allowed: boolean | null
  readonly because: string
  readonly endpoint: string
  readonly needs: {
    readonly kind: string
    readonly type?: string
    readonly action?: string
    readonly name?: string
  }
  readonly authenticators: readonly { readonly name: string; readonly knows: string }[]
  readonly directory: readonly AuthenticatorStep[]
  readonly groups: readonly { readonly group: string; readonly counts: boolean }[]
  readonly mappings: readonly { readonly mapping: string; readonly roles: readonly string[] }[]
  readonly roles: readonly { readonly role: string; readonly from: readonly string[] }[]
  readonly permissions: readonly {
    readonly role: string
    readonly permission: PermissionJson
    readonly grants: boolean | null
  }[]
}

/** A request to explain. */
export interface AccessQuestion {
  readonly user: string
  readonly method: string
  readonly path: string
}

/** Why a request of a user is allowed or not; fetched once there is a question. */
export const useAccessAnswer = (accountsPath: string, question: AccessQuestion | undefined) =>
  useQuery({
    queryKey: ['accessAnswer', accountsPath, question],
    queryFn: () => {
      const query = new URLSearchParams({ ...question! })
      return fetchJson<AccessAnswer>(`${accountsPath}/explain?${query}`)
    },
    enabled: question !== undefined,
    retry: false,
  })

/** A security event. */
export interface SecurityEvent {
  readonly id: number
  readonly kind: 'change' | 'loginFailure' | 'forbidden' | 'login'
  readonly key: string
  readonly identity: string
  readonly comment: string
  readonly address: string
  readonly time: string
  readonly details: {
    readonly requestId?: string
    /** Why a login failed. */
    readonly because?: string
  } | null
}

/** The last security events of one kind or of all, newest first. */
export const useSecurityAudit = (kind: string) =>
  useQuery({
    queryKey: ['securityAudit', kind],
    queryFn: async () =>
      (
        await fetchJson<{ readonly entries: readonly SecurityEvent[] }>(
          `${base}/audit?count=30${kind === '' ? '' : `&kind=${kind}`}`,
        )
      ).entries,
    refetchInterval: retryMs,
  })
