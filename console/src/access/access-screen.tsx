import { countOf } from '@svc/domain/text'
import { useEffect, useEffectEvent, useMemo } from 'react'
import { useLocation, useParams } from 'wouter'
import type { UsersAndRoles } from '../answers/index.ts'
import { ClockOfCluster, PresentNotice } from '../clock/index.ts'
import { useCaller, useUsersAndRoles } from '../cluster/index.ts'
import { accessAddress, nameInAddress } from '../location.ts'
import { Empty, Name, Outcome, Problem, usePanelFocus } from '../ui/index.ts'
import { SecurityAudit } from './audit.tsx'
import { Calls } from './calls.tsx'
import { Certificates } from './certificates.tsx'
import { ExplainAccess } from './explain-access.tsx'
import { MappingPanel, NewMappingForm } from './mapping-panel.tsx'
import { Matrix } from './matrix.tsx'
import { Refusals } from './refusals.tsx'
import { MappingList, RoleList } from './role-list.tsx'
import { NewRoleForm, RolePanel } from './role-panel.tsx'
import { newSubjectAddress, type Subject } from './subject.ts'
import './access.css'
import { type Changes, useChanges } from './use-changes.ts'
import { NewUserForm, UserPanel } from './user-panel.tsx'

/** Users, roles, and group mappings: what each may do and why, and who changed it. */
export function AccessScreen() {
  const { data: caller } = useCaller()
  const access = useUsersAndRoles(caller?.security.read === true && caller.storesRoles)
  const changes = useChanges()
  const [subject, setSubject] = useSubject()
  const selected = subject && addressOf(subject)
  const panel = usePanelFocus(selected)
  const clearProblem = useEffectEvent(changes.clearProblem)
  useEffect(() => clearProblem(), [selected])
  if (caller?.security.read === false)
    return (
      <Empty title="Missing permission">
        <p>This page requires READ on CONFIG security, which administrators have.</p>
      </Empty>
    )
  if (caller?.storesRoles === false)
    return (
      <Empty title="This cluster does not store users or roles">
        <p>Its authorizers allow every request.</p>
      </Empty>
    )
  if (access.error && !access.data)
    return (
      <Empty title="Failed to load users and roles">
        <p>{access.error.message}</p>
      </Empty>
    )
  if (!access.data) return <Empty title="Loading…" />
  const { data } = access
  const canWrite = caller?.security.write === true
  const select = (kind: 'user' | 'role' | 'mapping') => (name: string) => setSubject({ kind, name })
  return (
    <div className="datasource">
      <div className="picture">
        <div className="row between">
          <h1>Access</h1>
          <ClockOfCluster />
        </div>
        <PresentNotice what="users, permissions, or requests" />
        <p className="sentence">
          {countOf(Object.keys(data.users).length, 'user')}, {countOf(Object.keys(data.roles).length, 'role')}
          , and {countOf(Object.keys(data.mappings).length, 'group mapping')}. In permissions, resource names
          are regular expressions.
        </p>
        <Matrix
          access={data}
          selected={subject?.kind === 'user' ? subject.name : undefined}
          onSelect={select('user')}
        />
        <ExplainAccess access={data} />
        <RoleList access={data} subject={subject} canWrite={canWrite} onSelect={setSubject} />
        <MappingList access={data} subject={subject} canWrite={canWrite} onSelect={setSubject} />
        <SecurityAudit />
        <Refusals />
        <Certificates />
        <Calls />
      </div>
      <aside ref={panel} tabIndex={-1} aria-label="Change access">
        {!canWrite && <p className="hint">Changing users and roles requires WRITE on CONFIG security.</p>}
        {canWrite && <LastChange changes={changes} />}
        {canWrite && <Editor access={data} changes={changes} subject={subject} onSubject={setSubject} />}
      </aside>
    </div>
  )
}

/** What is selected, which is in the address. */
function useSubject() {
  const { kind, name } = useParams<{ readonly kind?: string; readonly name?: string }>()
  const [, navigate] = useLocation()
  const subject = useMemo(() => subjectOf(kind, name), [kind, name])
  return [subject, (next: Subject | undefined) => navigate(addressOf(next))] as const
}

function subjectOf(kind: string | undefined, part: string | undefined): Subject | undefined {
  if (kind === 'newRole' || kind === 'newMapping') return { kind }
  const name = part === undefined ? undefined : nameInAddress(part)
  if (name === undefined || (kind !== 'user' && kind !== 'role' && kind !== 'mapping')) return undefined
  return { kind, name }
}

function addressOf(subject: Subject | undefined): string {
  if (subject === undefined) return '/access'
  return 'name' in subject ? accessAddress(subject.kind, subject.name) : newSubjectAddress(subject.kind)
}

/** The panel of what is selected: a user, role, or group mapping, or the form of a new one. */
function Editor({
  access,
  changes,
  subject,
  onSubject,
}: {
  readonly access: UsersAndRoles
  readonly changes: Changes
  readonly subject: Subject | undefined
  onSubject(subject: Subject | undefined): void
}) {
  const input = { access, changes, onDeleted: () => onSubject(undefined) }
  const created = (kind: 'user' | 'role' | 'mapping') => (name: string) => onSubject({ kind, name })
  if (subject?.kind === 'newRole') return <NewRoleForm {...input} onCreated={created('role')} />
  if (subject?.kind === 'newMapping') return <NewMappingForm {...input} onCreated={created('mapping')} />
  if (subject?.kind === 'role') return <RolePanel key={subject.name} {...input} role={subject.name} />
  if (subject?.kind === 'mapping')
    return <MappingPanel key={subject.name} {...input} mapping={subject.name} />
  return (
    <>
      {subject?.kind === 'user' && Object.hasOwn(access.users, subject.name) ? (
        <UserPanel key={subject.name} {...input} user={subject.name} />
      ) : (
        <p className="dim">Choose a user, role, or group mapping to change it.</p>
      )}
      <NewUserForm access={access} changes={changes} onCreated={created('user')} />
    </>
  )
}

/** What the last change did, or why it failed. */
function LastChange({ changes: { done, problem, undo } }: { readonly changes: Changes }) {
  return (
    <>
      {problem && <Problem>{problem}</Problem>}
      {done && (
        <Outcome onUndo={done.undo.length > 0 ? () => void undo() : undefined}>
          <Name>{done.text}</Name>
        </Outcome>
      )}
    </>
  )
}
