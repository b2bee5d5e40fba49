import { countOf } from '@svc/domain/text'
import { pageSource } from '../session/index.ts'
import { Name } from '../ui/index.ts'
import { closeSnapshot, useOpenedSnapshot } from './opened-snapshot.ts'

/** Says in the bar at the top that the page shows a snapshot, and which one. */
export function SnapshotLabel() {
  const opened = useOpenedSnapshot()
  if (!opened) return null
  return (
    <span className="row connection">
      <span
        className="pill"
        title={`${countOf(opened.segments, 'segment')} and ${countOf(opened.servers, 'server')}`}
      >
        Snapshot <Name>{opened.name}</Name>
      </span>
      {pageSource() === 'files' && (
        <button type="button" className="quiet" onClick={closeSnapshot}>
          Open another
        </button>
      )}
    </span>
  )
}
