import type { ReactNode } from 'react'
import { capitalized } from '../formats/index.ts'
import { type AuditedText, ChangeBy } from './change-by.tsx'
import { Notice } from './notice.tsx'

/** Shows what another person changed while an edit was open. Nothing is applied until the user has chosen one. */
export const ChangedByOther = ({
  what,
  last,
  children,
  keep = `Keep my edit and replace ${what}`,
  onKeep,
  onDiscard,
}: {
  readonly what:
    | 'these rules'
    | 'this configuration'
    | 'these permissions'
    | 'these roles'
    | 'this group mapping'
  /** The last change; null or undefined if it is unknown. */
  readonly last?: AuditedText | null | undefined
  /** The differences. */
  readonly children: ReactNode
  /** The label of the button that keeps the edit. */
  readonly keep?: string | undefined
  onKeep(): void
  onDiscard(): void
}) => (
  <Notice kind="warning" role="alert">
    <b>{capitalized(what)} changed while you were editing.</b> {last && <ChangeBy change={last} />}
    {children}
    <div className="row">
      <button type="button" onClick={onKeep}>
        {keep}
      </button>
      <button type="button" onClick={onDiscard}>
        Discard my edit
      </button>
    </div>
  </Notice>
)
