import { countOf } from '@svc/domain/text'
import { useState } from 'react'
import { useAccessDirectory, useCaller } from '../cluster/index.ts'
import { Empty, Name, Notice, Problem } from '../ui/index.ts'
import { InternalCalls, SecurityAudit } from './audit.tsx'
import { ExplainAccess } from './explain-access.tsx'
import { Matrix } from './matrix.tsx'
import { type Changes, useChanges } from './use-changes.ts'
import { NewUserForm, UserPanel } from './user-panel.tsx'

/** Users, roles, and group mappings: what each may do and why, and who changed it. */
export function AccessScreen() {
  const { data: caller } = useCaller()
  const directory = useAccessDirectory(caller?.security.read === true)
  const changes = useChanges()
  const [user, setUser] = useState<string>()
  if (caller?.security.read === false)
    return (
      <Empty title="Users and roles cannot be shown">
        <p>This page requires READ on CONFIG security, which administrators have.</p>
      </Empty>
    )
  if (directory.error && !directory.data)
    return (
      <Empty title="Users and roles cannot be shown">
        <p>{directory.error.message}</p>
      </Empty>
    )
  if (!directory.data) return <Empty title="Loading" />
  const { data } = directory
  const canWrite = caller?.security.write === true
  const isKnown = user !== undefined && Object.hasOwn(data.users, user)
  return (
    <div className="datasource">
      <div className="picture">
        <h1>Access</h1>
        <p className="sentence">
          {countOf(Object.keys(data.users).length, 'user')}, {countOf(Object.keys(data.roles).length, 'role')}
          , and {countOf(Object.keys(data.mappings).length, 'group mapping')}. Resource names are regular
          expressions.
        </p>
        <Matrix directory={data} selected={user} onSelect={setUser} />
        <ExplainAccess directory={data} />
        <SecurityAudit />
        <InternalCalls />
      </div>
      <aside aria-label="Change access">
        {!canWrite && <p className="hint">Changing users and roles requires WRITE on CONFIG security.</p>}
        {canWrite && <Outcome changes={changes} />}
        {canWrite && !isKnown && <p className="dim">Choose a user to change roles and permissions.</p>}
        {canWrite && isKnown && (
          <UserPanel
            key={user}
            directory={data}
            user={user}
            changes={changes}
            onDeleted={() => setUser(undefined)}
          />
        )}
        {canWrite && <NewUserForm directory={data} changes={changes} onCreated={setUser} />}
      </aside>
    </div>
  )
}

/** What the last change did, or why it failed. */
function Outcome({ changes }: { readonly changes: Changes }) {
  const { done, problem } = changes
  return (
    <>
      {problem && <Problem>{problem}</Problem>}
      {done && (
        <Notice kind="done" role="status">
          <span className="row between">
            <Name>{done.text}</Name>
            {done.undo.length > 0 && (
              <button type="button" onClick={() => void changes.undo()}>
                Undo
              </button>
            )}
          </span>
        </Notice>
      )}
    </>
  )
}
