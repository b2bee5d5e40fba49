import { useEffect } from 'react'
import { Link } from 'wouter'
import { Name } from '../ui/index.ts'
import { useUnsavedEdits } from './drafts.ts'

const maxShown = 2

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
  if (!hasEdits) return null
  return (
    <span className="pill future">
      Unsaved:{' '}
      {edits.slice(0, maxShown).map(({ label, href }, index) => (
        <span key={href}>
          {index > 0 && ', '}
          <Link href={href}>
            <Name>{label}</Name>
          </Link>
        </span>
      ))}
      {edits.length > maxShown && ` and ${edits.length - maxShown} more`}
    </span>
  )
}
