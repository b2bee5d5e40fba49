import { type FormEvent, useState } from 'react'
import type { PermissionJson, UsersAndRoles } from '../answers/index.ts'
import { useInventory } from '../cluster/index.ts'
import { Name, visible } from '../ui/index.ts'
import { saveRole } from './access-edits.ts'
import type { Change } from './change.ts'
import { roleChange } from './role-change.ts'
import type { Changes } from './use-changes.ts'

const levels = [
  ['read', ['READ']],
  ['read and write', ['READ', 'WRITE']],
] as const

/** Names of resources are regular expressions, so a name is escaped. */
const patternOf = (name: string): string => name.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')

interface Grant {
  readonly access: UsersAndRoles
  readonly user: string
  readonly role: string
  readonly dataSource: string
  readonly actions: readonly PermissionJson['action'][]
}

/** Returns the changes that assign a role to a user, and create the role if it does not exist. */
function changesFor({ access, user, role, dataSource, actions }: Grant): Change[] {
  const resource = { type: 'DATASOURCE', name: patternOf(dataSource) }
  const create = saveRole(
    access,
    role,
    actions.map((action) => ({ resource, action })),
  )
  return [...(Object.hasOwn(access.roles, role) ? [] : create), roleChange(access, 'users', user, role, true)]
}

/** Gives a user access to one datasource through a role of its own. */
export function GrantForm({
  access,
  user,
  changes,
}: {
  readonly access: UsersAndRoles
  readonly user: string
  readonly changes: Changes
}) {
  const { data: inventory } = useInventory()
  const [dataSource, setDataSource] = useState('')
  const [level, setLevel] = useState<(typeof levels)[number][0]>('read')
  const role = `${level === 'read' ? 'read' : 'write'} ${dataSource}`
  const isNew = !Object.hasOwn(access.roles, role)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    void changes.apply(
      `${user} can now ${level} ${dataSource}.`,
      changesFor({ access, user, role, dataSource, actions: levels.find(([name]) => name === level)![1] }),
    )
  }
  const hasRole = access.users[user]?.includes(role) === true
  return (
    <form className="review" onSubmit={submit}>
      <h3>Give access to a datasource</h3>
      <div className="fields">
        <label>
          May
          <select value={level} onChange={(event) => setLevel(event.target.value as typeof level)}>
            {levels.map(([name]) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <label>
          Datasource
          <select value={dataSource} onChange={(event) => setDataSource(event.target.value)}>
            <option value="">Choose a datasource…</option>
            {inventory?.datasources.map(({ name }) => (
              <option key={name} value={name}>
                {visible(name)}
              </option>
            ))}
          </select>
        </label>
      </div>
      {dataSource !== '' && (
        <p className="hint">
          {hasRole ? (
            <>
              <Name>{user}</Name> already has the role <Name>{role}</Name>.
            </>
          ) : (
            <>
              {isNew ? 'Creates the role' : 'Uses the role'} <Name>{role}</Name>, and assigns it to{' '}
              <Name>{user}</Name>.
            </>
          )}
        </p>
      )}
      <div className="row">
        <button type="submit" className="primary" disabled={dataSource === '' || hasRole || changes.isBusy}>
          Give access
        </button>
      </div>
    </form>
  )
}
