import type { ReactNode } from 'react'
import { Notice } from './notice.tsx'

/** What was done, and perhaps a button that takes it back. */
const Done = ({
  children,
  action,
  isBusy = false,
  onAction,
}: {
  readonly children: ReactNode
  readonly action: string
  readonly isBusy?: boolean
  readonly onAction: (() => void) | undefined
}) => (
  <Notice kind="done" role="status">
    <span className="row between">
      <span>{children}</span>
      {onAction && (
        <button type="button" disabled={isBusy} onClick={onAction}>
          {action}
        </button>
      )}
    </span>
  </Notice>
)

/** What a change did, and a button that undoes it. */
export const Outcome = ({
  children,
  isBusy = false,
  label = 'Undo',
  onUndo,
}: {
  readonly children: ReactNode
  readonly isBusy?: boolean
  readonly label?: string
  /** Undefined if it cannot be undone. */
  readonly onUndo: (() => void) | undefined
}) => (
  <Done action={label} isBusy={isBusy} onAction={onUndo}>
    {children}
  </Done>
)

/** Offers to continue an edit that was discarded. */
export const Discarded = ({ onRestore }: { onRestore(): void }) => (
  <Done action="Restore" onAction={onRestore}>
    The edit was discarded.
  </Done>
)
