import { isGroupPattern } from '@svc/domain/access'
import { type FormEvent, useState } from 'react'
import type { GroupMapping, UsersAndRoles } from '../answers/index.ts'
import { ConfirmedButton, Name } from '../ui/index.ts'
import { deleteMapping, saveMapping } from './access-edits.ts'
import type { Changes } from './use-changes.ts'

interface PanelInput {
  readonly access: UsersAndRoles
  readonly changes: Changes
}

/** One group mapping: which groups of the directory get which roles. */
export function MappingPanel({
  access,
  mapping,
  changes,
  onDeleted,
}: PanelInput & { readonly mapping: string; onDeleted(): void }) {
  const stored = access.mappings[mapping]!
  const [draft, setDraft] = useState<GroupMapping>()
  const edit = draft ?? stored
  const isEdited =
    draft !== undefined &&
    (draft.groupPattern !== stored.groupPattern ||
      draft.roles.toSorted().join('\n') !== stored.roles.toSorted().join('\n'))
  const submit = (event: FormEvent) => {
    event.preventDefault()
    void changes
      .apply(`Changed the group mapping ${mapping}.`, saveMapping(access, mapping, edit))
      .then((isDone) => isDone && setDraft(undefined))
  }
  return (
    <section className="review" aria-labelledby="mapping-title">
      <h2 id="mapping-title">
        Group mapping <Name>{mapping}</Name>
      </h2>
      <form className="review" onSubmit={submit}>
        <MappingFields access={access} edit={edit} onChange={setDraft} />
        {isEdited && (
          <div className="row">
            <button
              type="submit"
              className="primary"
              disabled={!isGroupPattern(edit.groupPattern) || changes.isBusy}
            >
              Apply
            </button>
            <button type="button" onClick={() => setDraft(undefined)}>
              Discard
            </button>
          </div>
        )}
      </form>
      <ConfirmedButton
        label="Delete this group mapping…"
        question="Members of its groups lose its roles."
        confirm="Delete group mapping"
        isBusy={changes.isBusy}
        onConfirm={() =>
          void changes
            .apply(`Deleted the group mapping ${mapping}.`, deleteMapping(access, mapping))
            .then((isDone) => isDone && onDeleted())
        }
      />
    </section>
  )
}

/** Creates a group mapping. */
export function NewMappingForm({
  access,
  changes,
  onCreated,
}: PanelInput & { onCreated(mapping: string): void }) {
  const [name, setName] = useState('')
  const [edit, setEdit] = useState<GroupMapping>({ groupPattern: '', roles: [] })
  const isTaken = Object.hasOwn(access.mappings, name)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    void changes
      .apply(`Created the group mapping ${name}.`, saveMapping(access, name, edit))
      .then((isDone) => isDone && onCreated(name))
  }
  return (
    <form className="review" onSubmit={submit} aria-labelledby="new-mapping-title">
      <h2 id="new-mapping-title">New group mapping</h2>
      <label>
        Name
        <input value={name} autoComplete="off" onChange={(event) => setName(event.target.value)} />
      </label>
      {isTaken && <p className="problem">There is already a group mapping with this name.</p>}
      <MappingFields access={access} edit={edit} onChange={setEdit} />
      <div className="row">
        <button
          type="submit"
          className="primary"
          disabled={name === '' || isTaken || !isGroupPattern(edit.groupPattern) || changes.isBusy}
        >
          Create group mapping
        </button>
      </div>
    </form>
  )
}

function MappingFields({
  access,
  edit,
  onChange,
}: {
  readonly access: UsersAndRoles
  readonly edit: GroupMapping
  onChange(edit: GroupMapping): void
}) {
  const { groupPattern, roles } = edit
  const isInvalid = groupPattern !== '' && !isGroupPattern(groupPattern)
  return (
    <>
      <label>
        Groups of the LDAP directory
        <input
          value={groupPattern}
          spellCheck={false}
          placeholder="cn=analysts,ou=groups,dc=example,dc=com"
          aria-invalid={isInvalid}
          onChange={(event) => onChange({ ...edit, groupPattern: event.target.value })}
        />
      </label>
      <p className={isInvalid ? 'problem' : 'hint'}>
        Expected a distinguished name, <code>*</code> for all groups, <code>*,suffix</code>, or{' '}
        <code>prefix,*</code>.
      </p>
      <fieldset className="roles">
        <legend>Roles</legend>
        {Object.keys(access.roles)
          .sort()
          .map((role) => (
            <label key={role} className="check">
              <input
                type="checkbox"
                checked={roles.includes(role)}
                onChange={({ target }) =>
                  onChange({
                    ...edit,
                    roles: target.checked ? [...roles, role] : roles.filter((name) => name !== role),
                  })
                }
              />
              <Name>{role}</Name>
            </label>
          ))}
      </fieldset>
    </>
  )
}
