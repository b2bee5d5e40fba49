import type { ReactNode } from 'react'
import { visible } from '../formats/index.ts'

/** A box that stands out: a loss, a warning, something in the future, a problem, or a neutral message. */
export function Notice({
  kind,
  children,
  role,
}: {
  readonly kind: 'loss' | 'warning' | 'future' | 'problem' | 'done'
  readonly children: ReactNode
  readonly role?: 'alert' | 'status'
}) {
  return (
    <div className={`notice ${kind}`} role={role}>
      {children}
    </div>
  )
}

/** What went wrong, which is also read out. */
export const Problem = ({ children }: { readonly children: ReactNode }) => (
  <Notice kind="problem" role="alert">
    {children}
  </Notice>
)

/** What to show while there is nothing else: what is missing, and what to do. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <div className="empty">
      <h1>{title}</h1>
      {children}
    </div>
  )
}

/** A name from the cluster, which may contain anything: isolated, so that it cannot turn the text around it. */
export function Name({ children }: { readonly children: string }) {
  return <bdi className="name">{visible(children)}</bdi>
}
