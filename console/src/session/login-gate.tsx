import { type FormEvent, Fragment, type ReactNode, useCallback, useEffect, useRef, useState } from 'react'
import { unsavedEdits } from '../drafts/index.ts'
import { logIn, logOut, useSession } from './session.ts'
import { pageSource } from './source.ts'

/**
 * Shows its children once a user has logged in. If the session ends later, the login form covers them, so that nothing is
 * lost. Another user gets new ones.
 */
export function LoginGate({ children }: { readonly children: ReactNode }) {
  const { state, user } = useSession()
  const { problem, isBusy, submit } = useLogin()
  useEffect(() => {
    if (pageSource() === 'login') logOut()
    else void submit('', '')
  }, [submit])
  if (state === 'unknown')
    return (
      <main className="centered">
        {problem && (
          <>
            <p role="alert">{problem}</p>
            <div className="row">
              <button type="button" disabled={isBusy} onClick={() => void submit('', '')}>
                Try again
              </button>
            </div>
          </>
        )}
      </main>
    )
  return (
    <>
      {state !== 'loggedOut' && <Fragment key={user}>{children}</Fragment>}
      {state !== 'loggedIn' && <LoginForm isAgain={state === 'ended'} name={user} />}
    </>
  )
}

/** Logs in, and returns why the last attempt failed. */
function useLogin() {
  const [problem, setProblem] = useState<string>()
  const [isBusy, setIsBusy] = useState(false)
  const submit = useCallback(async (name: string, password: string): Promise<void> => {
    setIsBusy(true)
    setProblem(await logIn(name, password))
    setIsBusy(false)
  }, [])
  return { problem, isBusy, submit }
}

function LoginForm({ isAgain, name }: { readonly isAgain: boolean; readonly name: string }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const { problem, isBusy, submit } = useLogin()
  const show = () => {
    dialog.current?.showModal()
    // The name is filled in already. Opening a dialog moves the focus to its first field.
    dialog.current?.querySelector<HTMLInputElement>('input[type="password"]')?.focus()
  }
  useEffect(show, [])
  const onSubmit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    void submit(String(form.get('name')), String(form.get('password')))
  }
  return (
    <dialog
      ref={dialog}
      className={isAgain ? 'login' : 'login opaque'}
      aria-labelledby="login-title"
      onCancel={(event) => event.preventDefault()}
      // Browsers close a dialog when Esc is pressed twice, but the page cannot be used without a login.
      onClose={show}
    >
      <form onSubmit={onSubmit}>
        <h1 id="login-title">svc console</h1>
        <p className="dim">
          {isAgain
            ? 'Your session has ended. Log in again to continue; nothing you edited is lost.'
            : unsavedEdits().length > 0
              ? 'Log in again to continue your unsaved edits. They are lost if another user logs in.'
              : 'Log in as a user of this cluster.'}
        </p>
        <label>
          Name
          <input name="name" autoComplete="username" required defaultValue={name || 'admin'} />
        </label>
        <label>
          Password
          <input name="password" type="password" autoComplete="current-password" required />
        </label>
        {problem && (
          <p role="alert" className="problem">
            {problem}
          </p>
        )}
        <button type="submit" className="primary" disabled={isBusy}>
          Log in
        </button>
        <p className="hint">
          <code>./svc password</code> prints the password of <code>admin</code>; add <code>--home</code> if
          you started the cluster with it. Your password stays in the memory of this tab.
        </p>
      </form>
    </dialog>
  )
}
