import { countOf } from '@svc/domain/text'
import type { UsersAndRoles } from '../answers/index.ts'
import { Name } from '../ui/index.ts'
import { holdersOf, rowsOf } from './access-edits.ts'
import type { Subject } from './subject.ts'

interface ListInput {
  readonly access: UsersAndRoles
  readonly subject: Subject | undefined
  readonly canWrite: boolean
  onSelect(subject: Subject): void
}

/** All roles with their permissions and who has them. */
export function RoleList({ access, subject, canWrite, onSelect }: ListInput) {
  const names = Object.keys(access.roles).sort()
  return (
    <section aria-labelledby="roles-title">
      <div className="row between">
        <h2 id="roles-title">Roles</h2>
        {canWrite && (
          <button type="button" onClick={() => onSelect({ kind: 'newRole' })}>
            New role…
          </button>
        )}
      </div>
      <div className="scroll framed matrix" tabIndex={0} role="group" aria-label="List of roles">
        <table className="list">
          <thead>
            <tr>
              <th>role</th>
              <th>permissions</th>
              <th>assigned to</th>
            </tr>
          </thead>
          <tbody>
            {names.map((role) => (
              <tr key={role}>
                <th scope="row">
                  <SubjectButton
                    kind="role"
                    name={role}
                    isCurrent={subject?.kind === 'role' && subject.name === role}
                    onSelect={() => onSelect({ kind: 'role', name: role })}
                  />
                </th>
                <td className="wrapped">
                  <Name>{permissionsText(access, role)}</Name>
                </td>
                <td className="dim">{holdersText(access, role)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}

/** All group mappings with their patterns and roles. */
export function MappingList({ access, subject, canWrite, onSelect }: ListInput) {
  const entries = Object.entries(access.mappings).sort(([a], [b]) => (a < b ? -1 : 1))
  return (
    <section aria-labelledby="mappings-title">
      <div className="row between">
        <h2 id="mappings-title">Group mappings</h2>
        {canWrite && (
          <button type="button" onClick={() => onSelect({ kind: 'newMapping' })}>
            New group mapping…
          </button>
        )}
      </div>
      {entries.length === 0 ? (
        <p className="dim">None. A group mapping assigns roles to the members of LDAP groups.</p>
      ) : (
        <table>
          <thead>
            <tr>
              <th>group mapping</th>
              <th>groups</th>
              <th>roles</th>
            </tr>
          </thead>
          <tbody>
            {entries.map(([name, { groupPattern, roles }]) => (
              <tr key={name}>
                <th scope="row">
                  <SubjectButton
                    kind="group mapping"
                    name={name}
                    isCurrent={subject?.kind === 'mapping' && subject.name === name}
                    onSelect={() => onSelect({ kind: 'mapping', name })}
                  />
                </th>
                <td>
                  <Name>{groupPattern}</Name>
                </td>
                <td>
                  {roles.length === 0 ? <span className="dim">none</span> : <Name>{roles.join(', ')}</Name>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}

// Users, roles, and group mappings often have the same name.
const SubjectButton = ({
  kind,
  name,
  isCurrent,
  onSelect,
}: {
  readonly kind: string
  readonly name: string
  readonly isCurrent: boolean
  onSelect(): void
}) => (
  <button
    type="button"
    className="link"
    aria-label={`${kind} ${name}`}
    aria-current={isCurrent ? 'true' : undefined}
    onClick={onSelect}
  >
    <Name>{name}</Name>
  </button>
)

/** Returns the permissions of a role in a few words, such as `read datasource wikipedia; read, write STATE`. */
function permissionsText({ roles }: UsersAndRoles, role: string): string {
  const texts = rowsOf(roles[role] ?? []).map(({ type, name, canRead, canWrite }) => {
    const actions = [canRead && 'read', canWrite && 'write'].filter(Boolean).join(', ')
    return `${actions} ${type === name ? type : `${type} ${name}`}`
  })
  return texts.length === 0 ? 'none' : texts.join('; ')
}

function holdersText(access: UsersAndRoles, role: string): string {
  const { users, mappings } = holdersOf(access, role)
  const parts = [
    ...(users.length > 0 ? [countOf(users.length, 'user')] : []),
    ...(mappings.length > 0 ? [countOf(mappings.length, 'group mapping')] : []),
  ]
  return parts.length === 0 ? 'nobody' : parts.join(', ')
}
