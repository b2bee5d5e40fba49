import { useEffect, useRef } from 'react'
import { Link, useLocation } from 'wouter'
import { useCaller } from './cluster/index.ts'
import { dismissRefusal, explainPath, useLastRefusal, useSession } from './session/index.ts'
import { Name } from './ui/index.ts'

/** Says on any screen which request was refused, and where to find out why. */
export function RefusalBar() {
  const refused = useLastRefusal()
  const { user } = useSession()
  const { data: caller } = useCaller()
  const [location] = useLocation()
  const shownAt = useRef(location)
  useEffect(() => {
    if (shownAt.current !== location) dismissRefusal()
    shownAt.current = location
  }, [location])
  if (!refused) return null
  const { method, path, message } = refused
  return (
    <div className="notice warning refusal" role="alert">
      <span>
        <b>Refused:</b>{' '}
        <code>
          {method} <Name>{path}</Name>
        </code>
        . <bdi>{message}</bdi>.{' '}
        {caller?.security.read ? (
          <Link href={explainPath({ user, method, path })}>Why?</Link>
        ) : (
          'An administrator can explain why on the Access screen, and give you this permission.'
        )}
      </span>
      <button type="button" className="quiet" onClick={dismissRefusal}>
        Dismiss
      </button>
    </div>
  )
}
