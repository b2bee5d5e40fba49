import type { ReactNode } from 'react'
import { Notice } from './notice.tsx'

/** What a change did, and a button that undoes it. */
export const Outcome = ({
  children,
  isBusy = false,
  onUndo,
}: {
  readonly children: ReactNode
  readonly isBusy?: boolean
  /** Undefined if it cannot be undone. */
  readonly onUndo: (() => void) | undefined
}) => (
  <Notice kind="done" role="status">
    <span className="row between">
      <span>{children}</span>
      {onUndo && (
        <button type="button" disabled={isBusy} onClick={onUndo}>
          Undo
        </button>
      )}
    </span>
  </Notice>
)

/** Offers to continue an edit that was discarded. */
export const Discarded = ({ onRestore }: { onRestore(): void }) => (
  <Notice kind="done" role="status">
    <span className="row between">
      The edit was discarded.
      <button type="button" onClick={onRestore}>
        Restore
      </button>
    </span>
  </Notice>
)
