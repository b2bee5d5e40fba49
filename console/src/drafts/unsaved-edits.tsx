import { useEffect, useRef } from 'react'
import { Link } from 'wouter'
import { Name, visible } from '../ui/index.ts'
import { type UnsavedEdit, useUnsavedEdits } from './drafts.ts'

/** Links to the unsaved edits of the tab. While there are any, the browser asks before it closes or reloads the page. */
export function UnsavedEdits() {
  const edits = useUnsavedEdits()
  const hasEdits = edits.length > 0
  useEffect(() => {
    if (!hasEdits) return undefined
    const warn = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', warn)
    return () => removeEventListener('beforeunload', warn)
  }, [hasEdits])
  const [first] = edits
  if (first === undefined) return null
  if (edits.length > 1) return <Menu edits={edits} />
  return (
    <span className="pill future">
      Unsaved: <EditLink edit={first} />
    </span>
  )
}

const EditLink = ({
  edit: { label, href },
  onFollow,
}: {
  readonly edit: UnsavedEdit
  readonly onFollow?: () => void
}) => (
  <Link href={href} title={visible(label)} {...(onFollow === undefined ? {} : { onClick: onFollow })}>
    <Name>{label}</Name>
  </Link>
)

/** A button that shows links to all unsaved edits. It closes when one is followed, and when the focus leaves it. */
function Menu({ edits }: { readonly edits: readonly UnsavedEdit[] }) {
  const menu = useRef<HTMLDetailsElement>(null)
  const close = () => {
    if (menu.current) menu.current.open = false
  }
  return (
    <details
      ref={menu}
      className="unsaved"
      onBlur={({ relatedTarget }) => {
        if (!menu.current?.contains(relatedTarget)) close()
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !menu.current?.open) return
        // Outside the menu, Esc discards the edit on the screen.
        event.stopPropagation()
        close()
        menu.current.querySelector('summary')?.focus()
      }}
    >
      <summary className="pill future">Unsaved: {edits.length} edits</summary>
      <ul>
        {edits.map((edit) => (
          <li key={`${edit.href} ${edit.label}`}>
            <EditLink edit={edit} onFollow={close} />
          </li>
        ))}
      </ul>
    </details>
  )
}
