import type { AccessDirectory } from '../cluster/index.ts'
import type { Change } from './change.ts'

/** Returns the change that assigns a role to a user, or removes it. */
export function roleChange(
  { accountsPath }: AccessDirectory,
  user: string,
  role: string,
  isAssigned: boolean,
): Change {
  const path = `${accountsPath}/users/${encodeURIComponent(user)}/roles/${encodeURIComponent(role)}`
  const [assign, remove] = [
    { method: 'POST', path },
    { method: 'DELETE', path },
  ] as const
  return isAssigned ? { ...assign, undo: [remove] } : { ...remove, undo: [assign] }
}
