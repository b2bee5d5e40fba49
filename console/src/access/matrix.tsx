import type { UsersAndRoles } from '../answers/index.ts'
import { Name, visible } from '../ui/index.ts'

/** A user or a group mapping, with its roles. */
interface Holder {
  readonly name: string
  readonly kind: 'user' | 'group mapping'
  readonly roles: readonly string[]
}

const maxColumns = 24
const typeOrder = ['STATE', 'CONFIG', 'DATASOURCE']

/** A resource, or several of different types with the same name, to which all roles grant the same. */
interface Column {
  readonly types: readonly string[]
  readonly name: string
}

/** The resources that any role names: types in the order in which people think of them, then patterns. */
function columnsOf(roles: UsersAndRoles['roles']): Column[] {
  const found = new Map(
    Object.values(roles)
      .flat()
      .map(({ resource }) => [`${resource.type} ${resource.name}`, resource]),
  )
  const rank = (type: string) => {
    const at = typeOrder.indexOf(type)
    return at === -1 ? typeOrder.length : at
  }
  const resources = [...found.values()].sort(
    (a, b) =>
      rank(a.type) - rank(b.type) || (a.type < b.type ? -1 : a.type > b.type ? 1 : a.name < b.name ? -1 : 1),
  )
  const grants = ({ type, name }: { readonly type: string; readonly name: string }): string =>
    JSON.stringify(Object.keys(roles).map((role) => grantText(roles, [role], type, name)))
  // Most clusters grant the rare types together, and a narrow window has no space for a column for each.
  const groups = Map.groupBy(resources, (one) =>
    rank(one.type) < typeOrder.length ? `${one.type} ${one.name}` : `${one.name} ${grants(one)}`,
  )
  return [...groups.values()].map((list) => ({ types: list.map(({ type }) => type), name: list[0]!.name }))
}

/** What each user and each group mapping may read and write, through which role. */
export function Matrix({
  access,
  selected,
  onSelect,
}: {
  readonly access: UsersAndRoles
  readonly selected: string | undefined
  onSelect(user: string): void
}) {
  const { users, mappings, roles } = access
  const columns = columnsOf(roles)
  const holders: Holder[] = [
    ...Object.entries(users).map(([name, own]) => ({ name, kind: 'user' as const, roles: own })),
    ...Object.entries(mappings).map(([name, one]) => ({
      name,
      kind: 'group mapping' as const,
      roles: one.roles,
    })),
  ].sort((a, b) => (a.kind === b.kind ? (a.name < b.name ? -1 : 1) : a.kind === 'user' ? -1 : 1))
  return (
    <div className="scroll framed matrix" tabIndex={0} role="group" aria-label="Permissions by user">
      <table className="list">
        <thead>
          <tr>
            <th>user</th>
            <th>roles</th>
            {columns.slice(0, maxColumns).map((column) => (
              <ColumnHead key={`${column.types} ${column.name}`} column={column} />
            ))}
          </tr>
        </thead>
        <tbody>
          {holders.map(({ name, kind, roles: own }) => (
            <tr key={`${kind} ${name}`}>
              <th scope="row">
                {kind === 'user' ? (
                  <button
                    type="button"
                    className="link"
                    aria-current={selected === name ? 'true' : undefined}
                    onClick={() => onSelect(name)}
                  >
                    <Name>{name}</Name>
                  </button>
                ) : (
                  <>
                    <Name>{name}</Name> <span className="dim">group mapping</span>
                  </>
                )}
              </th>
              <td className="dim">
                <Name>{own.join(', ')}</Name>
              </td>
              {columns.slice(0, maxColumns).map(({ types, name: pattern }) => (
                <td key={`${types} ${pattern}`}>{grantText(roles, own, types[0]!, pattern)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {columns.length > maxColumns && (
        <p className="hint">{columns.length - maxColumns} more resources are not shown.</p>
      )}
    </div>
  )
}

const ColumnHead = ({ column: { types, name } }: { readonly column: Column }) => (
  <th className={types.length > 1 ? 'several' : undefined} title={visible(name)}>
    <span className="small">{types.join(', ').toLowerCase().replaceAll('_', ' ')}</span>
    <br />
    <Name>{name}</Name>
  </th>
)

/** The actions that roles grant for one resource: `read`, `write`, `read, write`, or nothing. */
function grantText(
  roles: UsersAndRoles['roles'],
  own: readonly string[],
  type: string,
  pattern: string,
): string {
  const actions = new Set(
    own
      .flatMap((role) => roles[role] ?? [])
      .filter(({ resource }) => resource.type === type && resource.name === pattern)
      .map(({ action }) => action.toLowerCase()),
  )
  return [...actions].sort().join(', ')
}
