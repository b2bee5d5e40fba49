import { resourceTypes } from '@svc/domain/access'
import { countOf, formatList } from '@svc/domain/text'
import type { FormEvent } from 'react'
import type { PermissionJson, UsersAndRoles } from '../answers/index.ts'
import { Drafts, useDraft } from '../drafts/index.ts'
import { accessAddress } from '../location.ts'
import { useSession } from '../session/index.ts'
import { ConfirmedButton, Name, Notice } from '../ui/index.ts'
import {
  deleteRole,
  holdersOf,
  type PermissionRow,
  permissionsOf,
  permissionText,
  permissionTexts,
  rowsOf,
  saveRole,
} from './access-edits.ts'
import { EditButtons } from './edit-buttons.tsx'
import { OtherChange } from './other-change.tsx'
import { newSubjectAddress } from './subject.ts'
import { type BasedEdit, useBasedEdit } from './use-based-edit.ts'
import type { Changes } from './use-changes.ts'

interface PanelInput {
  readonly access: UsersAndRoles
  readonly changes: Changes
}

const drafts = new Drafts<BasedEdit<readonly string[], readonly PermissionRow[]>>({
  isUnsaved: ({ base, draft }) => textOf(textsOf(permissionsOf(draft))) !== textOf(base),
  describe: (role) => ({ label: `role ${role}`, href: accessAddress('role', role) }),
})

/** One role: its permissions, which can be edited, and who has it. */
export function RolePanel({
  access,
  role,
  changes,
  onDeleted,
}: PanelInput & { readonly role: string; onDeleted(): void }) {
  const stored = access.roles[role] ?? []
  const edit = useBasedEdit(drafts, role, permissionTexts(access, role), textOf)
  const { draft } = edit
  const permissions = draft && permissionsOf(draft)
  const isEdited = permissions !== undefined && textOf(textsOf(permissions)) !== textOf(textsOf(stored))
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!permissions) return
    const textIn = (latest: UsersAndRoles) => textOf(permissionTexts(latest, role))
    void changes
      .apply(`Changed the permissions of the role ${role}.`, saveRole(access, role, permissions), {
        textIn,
        expected: textOf(edit.base),
        isEdit: true,
      })
      .then((isDone) => isDone && edit.discard())
  }
  return (
    <section className="review" aria-labelledby="role-title">
      <h2 id="role-title">
        Role <Name>{role}</Name>
      </h2>
      <Holders {...holdersOf(access, role)} />
      <form className="review" onSubmit={submit}>
        <PermissionRows rows={draft ?? rowsOf(stored)} isDisabled={changes.isBusy} onChange={edit.change} />
        {draft && edit.isChangedByOther && !changes.isBusy && (
          <OtherChange
            what="these permissions"
            before={edit.base}
            after={textsOf(stored)}
            onKeep={edit.keep}
            onDiscard={edit.discard}
          />
        )}
        {isEdited && (
          <>
            <Review access={access} role={role} before={stored} after={permissions} />
            {!edit.isChangedByOther && (
              <EditButtons isDisabled={!isComplete(draft) || changes.isBusy} onDiscard={edit.discard} />
            )}
          </>
        )}
      </form>
      {Object.hasOwn(access.roles, role) ? (
        <DeleteRole access={access} role={role} changes={changes} onDeleted={onDeleted} />
      ) : (
        <p className="hint">This role does not exist.</p>
      )}
    </section>
  )
}

function DeleteRole({
  access,
  role,
  changes,
  onDeleted,
}: PanelInput & { readonly role: string; onDeleted(): void }) {
  const { users, mappings } = holdersOf(access, role)
  const textIn = (latest: UsersAndRoles) =>
    JSON.stringify([permissionTexts(latest, role), holdersOf(latest, role)])
  return (
    <ConfirmedButton
      label="Delete this role…"
      question={whoLosesRole(users.length, mappings.length)}
      confirm="Delete role"
      isBusy={changes.isBusy}
      onConfirm={() =>
        void changes
          .apply(`Deleted the role ${role}.`, deleteRole(access, role), { textIn, expected: textIn(access) })
          .then((isDone) => isDone && onDeleted())
      }
    />
  )
}

const newDrafts = new Drafts<{ readonly name: string; readonly rows: readonly PermissionRow[] }>({
  isUnsaved: () => true,
  describe: () => ({ label: 'new role', href: newSubjectAddress('newRole') }),
})

/** Creates a role with permissions. */
export function NewRoleForm({ access, changes, onCreated }: PanelInput & { onCreated(role: string): void }) {
  const [{ name, rows } = { name: '', rows: [newRow] }, setDraft] = useDraft(newDrafts, '')
  const isTaken = Object.hasOwn(access.roles, name)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    void changes
      .apply(`Created the role ${name}.`, saveRole(access, name, permissionsOf(rows)))
      .then((isDone) => {
        if (!isDone) return
        setDraft(undefined)
        onCreated(name)
      })
  }
  return (
    <form className="review" onSubmit={submit} aria-labelledby="new-role-title">
      <h2 id="new-role-title">New role</h2>
      <label>
        Name
        <input
          value={name}
          autoComplete="off"
          onChange={(event) => setDraft({ name: event.target.value, rows })}
        />
      </label>
      {isTaken && <p className="problem">There is already a role with this name.</p>}
      <PermissionRows
        rows={rows}
        isDisabled={changes.isBusy}
        onChange={(next) => setDraft({ name, rows: next })}
      />
      <div className="row">
        <button
          type="submit"
          className="primary"
          disabled={name === '' || isTaken || !isComplete(rows) || changes.isBusy}
        >
          Create role
        </button>
      </div>
    </form>
  )
}

const newRow: PermissionRow = { type: 'DATASOURCE', name: '', canRead: true, canWrite: false }
// Resources of these types have one name.
const onlyNames: Readonly<Record<string, readonly string[]>> = { STATE: ['STATE'] }

const isComplete = (rows: readonly PermissionRow[] | undefined): boolean =>
  rows?.every(({ name, canRead, canWrite }) => name !== '' && (canRead || canWrite)) === true

interface PermissionRowsInput {
  readonly rows: readonly PermissionRow[]
  readonly isDisabled: boolean
  onChange(rows: readonly PermissionRow[]): void
}

/** The permissions of a role as rows of a form. */
function PermissionRows({ rows, isDisabled, onChange }: PermissionRowsInput) {
  const change = (index: number, fields: Partial<PermissionRow>) =>
    onChange(rows.map((row, at) => (at === index ? { ...row, ...fields } : row)))
  const chooseType = (index: number, type: string) => {
    const [only] = onlyNames[type] ?? []
    change(index, { type, ...(only === undefined ? {} : { name: only }) })
  }
  return (
    <fieldset className="review permissions" disabled={isDisabled}>
      <legend>Permissions</legend>
      {rows.map((row, index) => (
        <div key={index} className="permission">
          <select
            aria-label={`Type of resource ${index + 1}`}
            value={row.type}
            onChange={(event) => chooseType(index, event.target.value)}
          >
            {resourceTypes.map((type) => (
              <option key={type}>{type}</option>
            ))}
          </select>
          <input
            aria-label={`Name of resource ${index + 1}`}
            placeholder="name or regular expression"
            spellCheck={false}
            value={row.name}
            onChange={(event) => change(index, { name: event.target.value })}
          />
          <label className="check">
            <input
              type="checkbox"
              checked={row.canRead}
              onChange={(event) => change(index, { canRead: event.target.checked })}
            />
            read
          </label>
          <label className="check">
            <input
              type="checkbox"
              checked={row.canWrite}
              onChange={(event) => change(index, { canWrite: event.target.checked })}
            />
            write
          </label>
          <button
            type="button"
            className="quiet"
            aria-label={`Remove permission ${index + 1}`}
            onClick={() => onChange(rows.filter((_, at) => at !== index))}
          >
            ✕
          </button>
        </div>
      ))}
      {rows.length === 0 && <p className="dim">This role has no permissions.</p>}
      <div className="row">
        <button type="button" onClick={() => onChange([...rows, newRow])}>
          Add permission
        </button>
      </div>
    </fieldset>
  )
}

const textOf = (texts: readonly string[]): string => texts.join('\n')

const textsOf = (permissions: readonly PermissionJson[]): string[] => permissions.map(permissionText).sort()

function Holders({
  users,
  mappings,
}: {
  readonly users: readonly string[]
  readonly mappings: readonly string[]
}) {
  if (users.length + mappings.length === 0) return <p className="dim">Nobody has this role.</p>
  return (
    <p>
      <span className="dim">Assigned to</span>{' '}
      <Name>{[...users, ...mappings.map((mapping) => `${mapping} (group mapping)`)].join(', ')}</Name>
    </p>
  )
}

/** Which permissions are added and removed, and for whom. */
function Review({
  access,
  role,
  before,
  after,
}: {
  readonly access: UsersAndRoles
  readonly role: string
  readonly before: readonly PermissionJson[]
  readonly after: readonly PermissionJson[]
}) {
  const { user } = useSession()
  const { users, mappings } = holdersOf(access, role)
  const [old, next] = [textsOf(before), textsOf(after)]
  const [added, removed] = [
    next.filter((text) => !old.includes(text)),
    old.filter((text) => !next.includes(text)),
  ]
  return (
    <Notice kind="future" role="status">
      <p>
        Changes what {countOf(users.length, 'user')} and {countOf(mappings.length, 'group mapping')} may do.
      </p>
      <Texts title="Added" texts={added} />
      <Texts title="Removed" texts={removed} />
      {users.includes(user) && removed.length > 0 && (
        <p>
          <b>You have this role:</b> you may lose access to this page.
        </p>
      )}
    </Notice>
  )
}

function Texts({ title, texts }: { readonly title: string; readonly texts: readonly string[] }) {
  if (texts.length === 0) return null
  return (
    <p>
      {title}: <Name>{texts.join('; ')}</Name>
    </p>
  )
}

/** Says who loses the permissions of a role that is deleted. */
function whoLosesRole(users: number, mappings: number): string {
  if (users + mappings === 0) return 'Nobody has this role.'
  const affected = [
    ...(users > 0 ? [countOf(users, 'user')] : []),
    ...(mappings > 0 ? [countOf(mappings, 'group mapping')] : []),
  ]
  return `${formatList(affected)} ${users + mappings === 1 ? 'loses' : 'lose'} the permissions of this role.`
}
