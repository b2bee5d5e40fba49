import { isGroupPattern } from '@svc/domain/access'
import type { FormEvent } from 'react'
import type { GroupMapping, UsersAndRoles } from '../answers/index.ts'
import { Drafts, useDraft } from '../drafts/index.ts'
import { accessAddress } from '../location.ts'
import { ConfirmedButton, Name } from '../ui/index.ts'
import { deleteMapping, mappingLines, saveMapping } from './access-edits.ts'
import { EditButtons } from './edit-buttons.tsx'
import { OtherChange } from './other-change.tsx'
import { newSubjectAddress } from './subject.ts'
import { type BasedEdit, useBasedEdit } from './use-based-edit.ts'
import type { Changes } from './use-changes.ts'

interface PanelInput {
  readonly access: UsersAndRoles
  readonly changes: Changes
}

const drafts = new Drafts<BasedEdit<GroupMapping | undefined, GroupMapping>>({
  isUnsaved: ({ base, draft }) => textOf(draft) !== textOf(base),
  describe: (mapping) => ({ label: `group mapping ${mapping}`, href: accessAddress('mapping', mapping) }),
})

/** One group mapping: which groups of the directory get which roles. */
export function MappingPanel({
  access,
  mapping,
  changes,
  onDeleted,
}: PanelInput & { readonly mapping: string; onDeleted(): void }) {
  const stored = Object.hasOwn(access.mappings, mapping) ? access.mappings[mapping] : undefined
  const edit = useBasedEdit(drafts, mapping, stored, textOf)
  const shown = edit.draft ?? stored ?? noMapping
  const isEdited = edit.draft !== undefined && textOf(edit.draft) !== textOf(stored)
  const textIn = ({ mappings }: UsersAndRoles) =>
    textOf(Object.hasOwn(mappings, mapping) ? mappings[mapping] : undefined)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    void changes
      .apply(`Changed the group mapping ${mapping}.`, saveMapping(access, mapping, shown), {
        textIn,
        expected: textOf(edit.base),
        isEdit: true,
      })
      .then((isDone) => isDone && edit.discard())
  }
  const remove = () =>
    changes
      .apply(`Deleted the group mapping ${mapping}.`, deleteMapping(access, mapping), {
        textIn,
        expected: textIn(access),
      })
      .then((isDone) => isDone && onDeleted())
  return (
    <section className="review" aria-labelledby="mapping-title">
      <h2 id="mapping-title">
        Group mapping <Name>{mapping}</Name>
      </h2>
      <form className="review" onSubmit={submit}>
        <MappingFields access={access} edit={shown} onChange={edit.change} />
        {edit.draft && edit.isChangedByOther && !changes.isBusy && (
          <OtherChange
            what="this group mapping"
            before={mappingLines(edit.base)}
            after={mappingLines(stored)}
            onKeep={edit.keep}
            onDiscard={edit.discard}
          />
        )}
        {isEdited && !edit.isChangedByOther && (
          <EditButtons
            isDisabled={!isGroupPattern(shown.groupPattern) || changes.isBusy}
            onDiscard={edit.discard}
          />
        )}
      </form>
      {stored ? (
        <ConfirmedButton
          label="Delete this group mapping…"
          question="Members of its groups lose its roles."
          confirm="Delete group mapping"
          isBusy={changes.isBusy}
          onConfirm={() => void remove()}
        />
      ) : (
        <p className="hint">This group mapping does not exist.</p>
      )}
    </section>
  )
}

const noMapping: GroupMapping = { groupPattern: '', roles: [] }

const textOf = (mapping: GroupMapping | undefined): string => mappingLines(mapping).join('\n')

const newDrafts = new Drafts<{ readonly name: string; readonly edit: GroupMapping }>({
  isUnsaved: () => true,
  describe: () => ({ label: 'new group mapping', href: newSubjectAddress('newMapping') }),
})

/** Creates a group mapping. */
export function NewMappingForm({
  access,
  changes,
  onCreated,
}: PanelInput & { onCreated(mapping: string): void }) {
  const [{ name, edit } = { name: '', edit: noMapping }, setDraft] = useDraft(newDrafts, '')
  const isTaken = Object.hasOwn(access.mappings, name)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    void changes
      .apply(`Created the group mapping ${name}.`, saveMapping(access, name, edit))
      .then((isDone) => {
        if (!isDone) return
        setDraft(undefined)
        onCreated(name)
      })
  }
  return (
    <form className="review" onSubmit={submit} aria-labelledby="new-mapping-title">
      <h2 id="new-mapping-title">New group mapping</h2>
      <label>
        Name
        <input
          value={name}
          autoComplete="off"
          onChange={(event) => setDraft({ name: event.target.value, edit })}
        />
      </label>
      {isTaken && <p className="problem">There is already a group mapping with this name.</p>}
      <MappingFields access={access} edit={edit} onChange={(next) => setDraft({ name, edit: next })} />
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
