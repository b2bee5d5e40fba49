import { type FormEvent, useState } from 'react'
import type { UsersAndRoles } from '../answers/index.ts'
import { isTypedName, Name } from '../ui/index.ts'
import { rolesOf } from './access-edits.ts'
import type { Change } from './change.ts'
import { GrantForm } from './grant-form.tsx'
import { RolesForm } from './roles-form.tsx'
import type { Changes } from './use-changes.ts'

/** One user: roles, access to a datasource, password, and deletion. */
export function UserPanel({
  access,
  user,
  changes,
  onDeleted,
}: {
  readonly access: UsersAndRoles
  readonly user: string
  readonly changes: Changes
  onDeleted(): void
}) {
  return (
    <section className="review" aria-labelledby="user-title">
      <h2 id="user-title">
        User <Name>{user}</Name>
      </h2>
      <GrantForm access={access} user={user} changes={changes} />
      <RolesForm access={access} user={user} changes={changes} />
      {access.logins.includes(user) && access.loginsPath !== undefined && (
        <PasswordForm
          path={`${access.loginsPath}/${encodeURIComponent(user)}`}
          user={user}
          changes={changes}
        />
      )}
      <DeleteUser access={access} user={user} changes={changes} onDeleted={onDeleted} />
    </section>
  )
}

function PasswordForm({
  path,
  user,
  changes,
}: {
  readonly path: string
  readonly user: string
  readonly changes: Changes
}) {
  const [password, setPassword] = useState('')
  const submit = (event: FormEvent) => {
    event.preventDefault()
    void changes
      .apply(`Changed the password of ${user}.`, [
        { method: 'POST', path: `${path}/credentials`, body: { password } },
      ])
      .then((isDone) => isDone && setPassword(''))
  }
  return (
    <form className="review" onSubmit={submit}>
      <label>
        New password
        <input
          type="password"
          autoComplete="new-password"
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
      </label>
      <div className="row">
        <button type="submit" disabled={password === '' || changes.isBusy}>
          Set password
        </button>
      </div>
    </form>
  )
}

/** Deletes a user together with the password, which cannot be undone, so the name must be typed first. */
function DeleteUser({
  access,
  user,
  changes,
  onDeleted,
}: {
  readonly access: UsersAndRoles
  readonly user: string
  readonly changes: Changes
  onDeleted(): void
}) {
  const [typed, setTyped] = useState('')
  const name = encodeURIComponent(user)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const paths = [
      `${access.accountsPath}/users/${name}`,
      ...(access.logins.includes(user) ? [`${access.loginsPath}/${name}`] : []),
    ]
    const textIn = (latest: UsersAndRoles) => rolesOf(latest, user).join('\n')
    void changes
      .apply(
        `Deleted user ${user}.`,
        paths.map((path) => ({ method: 'DELETE', path })),
        { textIn, expected: textIn(access) },
      )
      .then((isDone) => isDone && onDeleted())
  }
  return (
    <details>
      <summary>Delete this user</summary>
      <form className="review" onSubmit={submit}>
        <label>
          <span>
            Type{' '}
            <b>
              <Name>{user}</Name>
            </b>{' '}
            to confirm. A deleted user cannot be restored.
          </span>
          <input value={typed} spellCheck={false} onChange={(event) => setTyped(event.target.value)} />
        </label>
        <div className="row">
          <button type="submit" className="danger" disabled={!isTypedName(typed, user) || changes.isBusy}>
            Delete
          </button>
        </div>
      </form>
    </details>
  )
}

/** Creates a user with a password. Roles are assigned afterward. */
export function NewUserForm({
  access,
  changes,
  onCreated,
}: {
  readonly access: UsersAndRoles
  readonly changes: Changes
  onCreated(user: string): void
}) {
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const { loginsPath, accountsPath } = access
  if (loginsPath === undefined) return null
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const user = encodeURIComponent(name)
    const create = (path: string): Change => ({ method: 'POST', path, undo: [{ method: 'DELETE', path }] })
    void changes
      .apply(`${name} can now log in, but has no permissions yet.`, [
        create(`${loginsPath}/${user}`),
        create(`${accountsPath}/users/${user}`),
        { method: 'POST', path: `${loginsPath}/${user}/credentials`, body: { password } },
      ])
      .then((isDone) => {
        if (!isDone) return
        setName('')
        setPassword('')
        onCreated(name)
      })
  }
  return (
    <form className="review" onSubmit={submit}>
      <h2>New user</h2>
      <div className="fields">
        <label>
          Name
          <input value={name} autoComplete="off" onChange={(event) => setName(event.target.value)} />
        </label>
        <label>
          Password
          <input
            type="password"
            autoComplete="new-password"
            value={password}
            onChange={(event) => setPassword(event.target.value)}
          />
        </label>
      </div>
      <div className="row">
        <button type="submit" disabled={name === '' || password === '' || changes.isBusy}>
          Create user
        </button>
      </div>
    </form>
  )
}
