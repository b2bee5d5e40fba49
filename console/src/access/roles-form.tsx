import { type FormEvent, useState } from 'react'
import type { PermissionJson, UsersAndRoles } from '../answers/index.ts'
import { useSession } from '../session/index.ts'
import { Name, Notice } from '../ui/index.ts'
import { roleChange } from './role-change.ts'
import type { Changes } from './use-changes.ts'

/** Chooses the roles of a user, and shows what that changes before it is applied. */
export function RolesForm({
  access,
  user,
  changes,
}: {
  readonly access: UsersAndRoles
  readonly user: string
  readonly changes: Changes
}) {
  const own = access.users[user] ?? []
  // What was chosen by role, so that the changes of others stay.
  const [chosen, setChosen] = useState<ReadonlyMap<string, boolean>>(new Map())
  const roles = Object.keys(access.roles).sort()
  const isChosen = (role: string): boolean => chosen.get(role) ?? own.includes(role)
  const assigned = roles.filter((role) => isChosen(role) && !own.includes(role))
  const removed = roles.filter((role) => !isChosen(role) && own.includes(role))
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const texts = [
      ...assigned.map((role) => `${user} now has the role ${role}.`),
      ...removed.map((role) => `${user} no longer has the role ${role}.`),
    ]
    const requests = [
      ...assigned.map((role) => roleChange(access, 'users', user, role, true)),
      ...removed.map((role) => roleChange(access, 'users', user, role, false)),
    ]
    void changes.apply(texts.join(' '), requests).then((isDone) => isDone && setChosen(new Map()))
  }
  return (
    <form className="review" onSubmit={submit}>
      <fieldset className="roles" disabled={changes.isBusy}>
        <legend>Roles</legend>
        {roles.map((role) => (
          <label key={role} className="check">
            <input
              type="checkbox"
              checked={isChosen(role)}
              onChange={({ target }) => setChosen(new Map(chosen).set(role, target.checked))}
            />
            <Name>{role}</Name>
          </label>
        ))}
      </fieldset>
      {assigned.length + removed.length > 0 && (
        <>
          <Review access={access} user={user} assigned={assigned} removed={removed} />
          <div className="row">
            <button type="submit" className="primary" disabled={changes.isBusy}>
              Apply
            </button>
            <button type="button" onClick={() => setChosen(new Map())}>
              Discard
            </button>
          </div>
        </>
      )}
    </form>
  )
}

/** What the user may do afterward and no longer. */
function Review({
  access: { roles, users },
  user,
  assigned,
  removed,
}: {
  readonly access: UsersAndRoles
  readonly user: string
  readonly assigned: readonly string[]
  readonly removed: readonly string[]
}) {
  const session = useSession()
  const textsOf = (names: readonly string[]): string[] => [
    ...new Set(names.flatMap((role) => (roles[role] ?? []).map(textOf))),
  ]
  const kept = textsOf((users[user] ?? []).filter((role) => !removed.includes(role)))
  const gained = textsOf(assigned).filter((text) => !kept.includes(text))
  const lost = textsOf(removed).filter((text) => !kept.includes(text) && !gained.includes(text))
  return (
    <Notice kind="future" role="status">
      <p>
        <Name>{user}</Name> gets <Name>{listOf(assigned)}</Name> and loses <Name>{listOf(removed)}</Name>.
      </p>
      <Permissions title="Added permissions" texts={gained} />
      <Permissions title="Removed permissions" texts={lost} />
      {user === session.user && removed.length > 0 && (
        <p>
          <b>This is you:</b> you may lose access to this page.
        </p>
      )}
    </Notice>
  )
}

const listOf = (roles: readonly string[]): string =>
  roles.length === 0 ? 'no role' : `the ${roles.length === 1 ? 'role' : 'roles'} ${roles.join(', ')}`

const textOf = ({ resource: { type, name }, action }: PermissionJson): string =>
  `${action} on ${type} ${name}`

const maxListed = 8

function Permissions({ title, texts }: { readonly title: string; readonly texts: readonly string[] }) {
  if (texts.length === 0) return null
  return (
    <>
      <p>{title}:</p>
      <ul>
        {texts.slice(0, maxListed).map((text) => (
          <li key={text}>
            <Name>{text}</Name>
          </li>
        ))}
        {texts.length > maxListed && <li>and {texts.length - maxListed} more</li>}
      </ul>
    </>
  )
}
