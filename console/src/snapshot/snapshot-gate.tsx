import { useQueryClient } from '@tanstack/react-query'
import { type ChangeEvent, type DragEvent, type ReactNode, useCallback, useEffect, useState } from 'react'
import { pageSource } from '../session/index.ts'
import { Empty, Problem, ThemeSwitch } from '../ui/index.ts'
import type { SnapshotPlace } from '../web-worker/index.ts'
import { droppedFiles } from './dropped-files.ts'
import { openSnapshot, useOpenedSnapshot } from './opened-snapshot.ts'

/** Shows its children once a snapshot is open: the one next to the page, or one that the user drops or chooses. */
export function SnapshotGate({ children }: { readonly children: ReactNode }) {
  const opened = useOpenedSnapshot()
  const queries = useQueryClient()
  const [isReading, setIsReading] = useState(false)
  const [problem, setProblem] = useState<string>()
  const open = useCallback(
    async (place: SnapshotPlace | Promise<SnapshotPlace>) => {
      setIsReading(true)
      setProblem(undefined)
      try {
        // What the page knows is about the last snapshot, and no screen is shown now that would fetch it again.
        queries.clear()
        await openSnapshot(await place)
      } catch (error) {
        setProblem((error as Error).message)
      }
      setIsReading(false)
    },
    [queries],
  )
  const isNextToPage = pageSource() === 'snapshot'
  useEffect(() => {
    if (isNextToPage) void open({ address: new URL('snapshot/', document.baseURI).href })
  }, [isNextToPage, open])
  if (opened) return children
  if (isNextToPage && problem === undefined) return <Empty title="Reading the snapshot" />
  if (isNextToPage)
    return (
      <main>
        <Empty title="Failed to open the snapshot">
          <p>{problem}</p>
        </Empty>
      </main>
    )
  return <ChooseSnapshot isReading={isReading} problem={problem} onOpen={open} />
}

const exportCommand = './svc export inventory --complete --from https://router.example:9088 --user admin'
const curlCommands = `ROUTER=https://router.example:9088/druid/coordinator/v1
curl -fsS -u admin -o servers.json  "$ROUTER/servers?simple"
curl -fsS -u admin -o rules.json    "$ROUTER/rules"
curl -fsS -u admin -o segments.json "$ROUTER/metadata/segments"`

/** The first page without a cluster: where to drop a snapshot, and how to get one. */
function ChooseSnapshot({
  isReading,
  problem,
  onOpen,
}: {
  readonly isReading: boolean
  readonly problem: string | undefined
  onOpen(place: SnapshotPlace | Promise<SnapshotPlace>): Promise<void>
}) {
  const [isOver, setIsOver] = useState(false)
  const drop = (event: DragEvent) => {
    event.preventDefault()
    setIsOver(false)
    void onOpen(droppedFiles(event.dataTransfer))
  }
  return (
    <>
      <header className="bar">
        <b className="brand">svc</b>
        <span className="connection" />
        <ThemeSwitch />
      </header>
      <main className="page narrow">
        <h1>Rehearse rules on a snapshot</h1>
        <p className="sentence">
          See what a rule change would do to a cluster, without access to it. Everything is computed in this
          browser, and nothing leaves it.
        </p>
        <section
          className={isOver ? 'drop-zone over' : 'drop-zone'}
          aria-label="Snapshot"
          onDrop={drop}
          onDragOver={(event) => {
            event.preventDefault()
            setIsOver(true)
          }}
          onDragLeave={() => setIsOver(false)}
        >
          <p className="sentence">
            {isReading ? 'Reading the snapshot…' : 'Drop a snapshot folder or its files here.'}
          </p>
          <div className="row">
            <FileButton label="Choose a folder" isFolder isDisabled={isReading} onOpen={onOpen} />
            <FileButton label="Choose files" isFolder={false} isDisabled={isReading} onOpen={onOpen} />
          </div>
        </section>
        {problem && <Problem>{problem}</Problem>}
        <section aria-labelledby="from-svc" className="lead">
          <h2 id="from-svc">Save a snapshot of an svc or Druid cluster</h2>
          <pre>{exportCommand}</pre>
        </section>
        <section aria-labelledby="from-curl" className="lead">
          <h2 id="from-curl">Or save the responses of Druid’s API</h2>
          <pre>{curlCommands}</pre>
          <p className="hint">
            These files do not say which server serves which segment. The console therefore assumes that
            replicas are where the rules require them.
          </p>
        </section>
      </main>
    </>
  )
}

function FileButton({
  label,
  isFolder,
  isDisabled,
  onOpen,
}: {
  readonly label: string
  readonly isFolder: boolean
  readonly isDisabled: boolean
  onOpen(place: SnapshotPlace): Promise<void>
}) {
  const choose = (event: ChangeEvent<HTMLInputElement>) => {
    const files = [...(event.target.files ?? [])]
    // So that choosing the same files again, after they have changed, is a change.
    event.target.value = ''
    if (files.length > 0) void onOpen({ files })
  }
  return (
    <label className="file-button">
      {label}
      <input
        type="file"
        multiple
        disabled={isDisabled}
        onChange={choose}
        {...(isFolder ? { webkitdirectory: '' } : {})}
      />
    </label>
  )
}
