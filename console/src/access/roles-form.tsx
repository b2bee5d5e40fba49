import type { FormEvent } from 'react'
import type { PermissionJson, UsersAndRoles } from '../answers/index.ts'
import { Drafts } from '../drafts/index.ts'
import { accessAddress } from '../location.ts'
import { useSession } from '../session/index.ts'
import { Name, Notice } from '../ui/index.ts'
import { rolesOf } from './access-edits.ts'
import { EditButtons } from './edit-buttons.tsx'
import { OtherChange } from './other-change.tsx'
import { roleChange } from './role-change.ts'
import { type BasedEdit, useBasedEdit } from './use-based-edit.ts'
import type { Changes } from './use-changes.ts'

// What was chosen by role, so that the changes of others stay.
const drafts = new Drafts<BasedEdit<readonly string[], ReadonlyMap<string, boolean>>>({
  isUnsaved: ({ base, draft }) => [...draft].some(([role, isChosen]) => base.includes(role) !== isChosen),
  describe: (user) => ({ label: `roles of ${user}`, href: accessAddress('user', user) }),
})

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
  const own = rolesOf(access, user)
  const edit = useBasedEdit(drafts, user, own, rolesText)
  const chosen = edit.draft ?? noChoice
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
    const textIn = (latest: UsersAndRoles) => rolesText(rolesOf(latest, user))
    void changes
      .apply(texts.join(' '), requests, { textIn, expected: rolesText(edit.base), isEdit: true })
      .then((isDone) => isDone && edit.discard())
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
              onChange={({ target }) => edit.change(new Map(chosen).set(role, target.checked))}
            />
            <Name>{role}</Name>
          </label>
        ))}
      </fieldset>
      {edit.draft && edit.isChangedByOther && !changes.isBusy && (
        <OtherChange
          what="these roles"
          before={edit.base}
          after={own}
          keep="Keep my edit"
          onKeep={edit.keep}
          onDiscard={edit.discard}
        />
      )}
      {assigned.length + removed.length > 0 && (
        <>
          <Review access={access} user={user} assigned={assigned} removed={removed} />
          {!edit.isChangedByOther && <EditButtons isDisabled={changes.isBusy} onDiscard={edit.discard} />}
        </>
      )}
    </form>
  )
}

const noChoice: ReadonlyMap<string, boolean> = new Map()

const rolesText = (roles: readonly string[]): string => roles.join('\n')

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
