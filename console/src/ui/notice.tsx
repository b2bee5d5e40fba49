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

/** How full something is, in the color of its tier. Its numbers are next to it. */
export function Meter({
  label,
  value,
  max,
  color,
}: {
  readonly label: string
  readonly value: number
  readonly max: number
  readonly color: number | undefined
}) {
  const share = max <= 0 ? 0 : Math.min(1, value / max)
  return (
    <span
      className={`meter tier-${color ?? 'none'}`}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(share * 100)}
    >
      <span style={{ width: `${share * 100}%` }} />
    </span>
  )
}

/** A square in the color of a tier. */
export function TierMark({ color }: { readonly color: number | undefined }) {
  return <span className={`mark tier-${color ?? 'none'}`} aria-hidden="true" />
}
