import type { ReactNode } from 'react'
import { capitalized } from '../formats/index.ts'
import { type AuditedText, ChangeBy } from './change-by.tsx'
import { Notice } from './notice.tsx'

/** Shows what another person changed while an edit was open. Nothing is applied until the user has chosen one. */
export const ChangedByOther = ({
  what,
  last,
  children,
  onKeep,
  onDiscard,
}: {
  readonly what: 'these rules' | 'this configuration'
  /** The last change; null or undefined if it is unknown. */
  readonly last: AuditedText | null | undefined
  /** The differences. */
  readonly children: ReactNode
  onKeep(): void
  onDiscard(): void
}) => (
  <Notice kind="warning" role="alert">
    <b>{capitalized(what)} changed while you were editing.</b> {last && <ChangeBy change={last} />}
    {children}
    <div className="row">
      <button type="button" onClick={onKeep}>
        Keep my edit and replace {what}
      </button>
      <button type="button" onClick={onDiscard}>
        Discard my edit
      </button>
    </div>
  </Notice>
)
