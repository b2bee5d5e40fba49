import { type ReactNode, useEffect, useId, useRef } from 'react'

/** A dialog that covers the page until it is closed. Afterward, the focus is where it was before. */
export function Dialog({
  title,
  className,
  onClose,
  children,
}: {
  readonly title: ReactNode
  readonly className: string
  onClose(): void
  /** The content, which may close the dialog. */
  children(close: () => void): ReactNode
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  const close = () => dialog.current?.close()
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} className={className} aria-labelledby={titleId} onClose={onClose}>
      <div className="row between">
        <h2 id={titleId}>{title}</h2>
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
      {children(close)}
    </dialog>
  )
}
