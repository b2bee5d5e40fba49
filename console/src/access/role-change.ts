import type { Change } from './change.ts'

interface Accounts {
  /** The path at which users, roles, and group mappings are changed. */
  readonly accountsPath: string
}

/** What can have a role. */
type HolderKind = 'users' | 'groupMappings'

/** Returns the path at which a role is assigned to a user or group mapping. */
export const assignmentPath = (
  { accountsPath }: Accounts,
  kind: HolderKind,
  name: string,
  role: string,
): string => `${accountsPath}/${kind}/${encodeURIComponent(name)}/roles/${encodeURIComponent(role)}`

/** Returns the change that assigns a role to a user or group mapping, or removes it. */
export function roleChange(
  accounts: Accounts,
  kind: HolderKind,
  name: string,
  role: string,
  isAssigned: boolean,
): Change {
  const path = assignmentPath(accounts, kind, name, role)
  const [assign, remove] = [
    { method: 'POST', path },
    { method: 'DELETE', path },
  ] as const
  return isAssigned ? { ...assign, undo: [remove] } : { ...remove, undo: [assign] }
}
