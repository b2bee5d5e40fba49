import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import { useSearch } from 'wouter'
import type { UsersAndRoles } from '../answers/index.ts'
import { type AccessAnswer, type AccessQuestion, useAccessAnswer } from '../cluster/index.ts'
import { requestIn } from '../session/index.ts'
import { Name, Notice, Problem, visible } from '../ui/index.ts'
import { DirectorySteps } from './directory-steps.tsx'

/** Why a request of a user is allowed or not, as a path through logins, roles, and permissions. */
export function ExplainAccess({ access }: { readonly access: UsersAndRoles }) {
  const [user, setUser] = useState('')
  const [method, setMethod] = useState('GET')
  const [path, setPath] = useState('/svc/coordinator/v1/rules')
  const [question, setQuestion] = useState<AccessQuestion>()
  const section = useRef<HTMLElement>(null)
  const search = useSearch()
  // A link to this screen may name a request.
  useEffect(() => {
    const asked = requestIn(search)
    if (!asked) return
    setUser(asked.user)
    setMethod(asked.method)
    setPath(asked.path)
    setQuestion(asked)
    section.current?.scrollIntoView({ block: 'start' })
  }, [search])
  const { data, error } = useAccessAnswer(access.accountsPath, question)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setQuestion({ user, method, path })
  }
  return (
    <section ref={section} className="review" aria-labelledby="explain-title">
      <h2 id="explain-title">Explain a request</h2>
      <form className="explain-form" onSubmit={submit}>
        <label>
          User
          <input list="users" value={user} onChange={(event) => setUser(event.target.value)} />
        </label>
        <datalist id="users">
          {Object.keys(access.users).map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <label>
          Method
          <select value={method} onChange={(event) => setMethod(event.target.value)}>
            {['GET', 'POST', 'PUT', 'DELETE'].map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <label>
          Path
          <input value={path} spellCheck={false} onChange={(event) => setPath(event.target.value)} />
        </label>
        <button type="submit" disabled={user === '' || path === ''}>
          Explain
        </button>
      </form>
      {error && <Problem>{error.message}</Problem>}
      {data && <Answer answer={data} />}
    </section>
  )
}

const neededLogins: Readonly<Record<string, string>> = {
  open: 'no login',
  authenticated: 'any login',
  internal: 'a login as the internal user',
}

const grantText = (grants: boolean | null): string =>
  grants === null ? 'grants it for matching names' : grants ? 'grants it' : 'does not apply'

function Answer({ answer }: { readonly answer: AccessAnswer }) {
  const { allowed, because, endpoint, needs, authenticators, directory, mappings, roles, permissions } =
    answer
  const needed =
    needs.type === undefined
      ? (neededLogins[needs.kind] ?? needs.kind)
      : `${needs.action} on ${needs.type}${needs.name === needs.type ? '' : ` ${needs.name ?? ''}`}`
  return (
    <div className="review" role="status">
      <Notice kind={allowed ? 'done' : 'warning'}>
        <b>{allowed === null ? 'Depends on the request.' : allowed ? 'Allowed.' : 'Not allowed.'}</b>{' '}
        {visible(because)}
      </Notice>
      <ol className="chain">
        <Step title="Request">
          <code>{endpoint}</code> requires {needed}
        </Step>
        <Step title="Logins">
          {authenticators.map(({ name, knows }) => (
            <div key={name}>
              <Name>{name}</Name>: {knows}
            </div>
          ))}
        </Step>
        {directory.length > 0 && (
          <Step title="Directory">
            <DirectorySteps steps={directory} />
          </Step>
        )}
        {mappings.length > 0 && (
          <Step title="Group mappings">
            <Name>{mappings.map(({ mapping }) => mapping).join(', ')}</Name>
          </Step>
        )}
        <Step title="Roles">
          {roles.length === 0
            ? 'none'
            : roles.map(({ role, from }) => (
                <div key={role}>
                  <Name>{role}</Name> <span className="dim">from {from.join(', ')}</span>
                </div>
              ))}
        </Step>
        <Step title="Permissions">
          {permissions.length === 0
            ? 'No role has a permission of this kind.'
            : permissions.map(({ role, permission, grants }, index) => (
                <div key={`${role} ${index}`} className={grants === false ? 'dim' : ''}>
                  {permission.action} on {permission.resource.type} <Name>{permission.resource.name}</Name>{' '}
                  from <Name>{role}</Name>: {grantText(grants)}
                </div>
              ))}
        </Step>
      </ol>
    </div>
  )
}

const Step = ({ title, children }: { readonly title: string; readonly children: ReactNode }) => (
  <li>
    <span className="dim">{title}</span>
    <div>{children}</div>
  </li>
)
