import { countOf, formatBytes } from '@svc/domain/text'
import { type KeyboardEvent, type MouseEvent, memo, useMemo, useRef, useState } from 'react'
import type { DataServer, QueueSize, ServerActivity } from '../cluster/index.ts'
import { formatShare, Name, useWidth } from '../ui/index.ts'
import { fillOf } from './fill-of.ts'
import { type MapCell, mapPaths } from './map-paths.ts'
import { queueText } from './queue-text.ts'

// Cells become smaller when there are many servers, so that all of them are visible at once.
const sizes = [
  { maxServers: 200, cell: 26 },
  { maxServers: 600, cell: 18 },
  { maxServers: Infinity, cell: 14 },
] as const
const gap = 3

interface MapInput {
  /** In the order in which they are shown. */
  readonly servers: readonly DataServer[]
  readonly queues: Readonly<Record<string, QueueSize>>
  readonly activity: Readonly<Record<string, ServerActivity>>
  readonly colors: ReadonlyMap<string, number>
  onSelect(index: number): void
}

/** All servers at a glance: a cell for each one, filled as far as the server is. Arrow keys and clicks select a server. */
export function ServerMap({ servers, queues, activity, colors, onSelect }: MapInput) {
  const box = useRef<HTMLDivElement>(null)
  const width = useWidth(box)
  const [selected, setSelected] = useState<number>()
  const { cell } = sizes.find(({ maxServers }) => servers.length <= maxServers)!
  const step = cell + gap
  const perRow = Math.max(1, Math.floor((width + gap) / step))
  const current = selected === undefined ? undefined : servers[selected]
  const select = (index: number) => {
    if (index < 0 || index >= servers.length) return
    setSelected(index)
    onSelect(index)
  }
  const onKey = (event: KeyboardEvent) => {
    const moves: Readonly<Record<string, number>> = {
      ArrowLeft: -1,
      ArrowRight: 1,
      ArrowUp: -perRow,
      ArrowDown: perRow,
    }
    const move = moves[event.key]
    if (move === undefined) return
    event.preventDefault()
    select(selected === undefined ? 0 : selected + move)
  }
  const onClick = (event: MouseEvent<SVGSVGElement>) => {
    const { left, top } = event.currentTarget.getBoundingClientRect()
    const column = Math.floor((event.clientX - left) / step)
    if (column < perRow) select(Math.floor((event.clientY - top) / step) * perRow + column)
  }
  return (
    <div className="server-map">
      <div
        ref={box}
        tabIndex={0}
        role="group"
        aria-label={`Map of ${servers.length} servers. Arrow keys select a server.`}
        onKeyDown={onKey}
      >
        {width > 0 && (
          <svg
            width={width}
            height={Math.ceil(servers.length / perRow) * step}
            onClick={onClick}
            aria-hidden="true"
          >
            <Cells {...{ servers, queues, activity, colors, cell, perRow }} />
            {selected !== undefined && current && (
              <rect
                className="selected"
                x={(selected % perRow) * step + 1}
                y={Math.floor(selected / perRow) * step + 1}
                width={cell - 2}
                height={cell - 2}
              />
            )}
          </svg>
        )}
      </div>
      <Selected server={current} queues={queues} activity={activity} />
    </div>
  )
}

function Selected({
  server,
  queues,
  activity,
}: Pick<MapInput, 'queues' | 'activity'> & { readonly server: DataServer | undefined }) {
  if (!server)
    return (
      <p className="hint" role="status">
        Each cell is a server, and its fill shows how much of its capacity is in use. A blue frame means that
        its load queue is not empty; a yellow frame means that loads failed. Click a cell to find its server
        below.
      </p>
    )
  const { host, currSize, maxSize } = server
  const { failedLoads = 0 } = activity[host] ?? {}
  return (
    <p className="hint" role="status">
      <Name>{host}</Name>: {formatBytes(currSize)} of {formatBytes(maxSize)}, {formatShare(currSize, maxSize)}
      , {queueText(queues[host])}
      {failedLoads > 0 && `, ${countOf(failedLoads, 'load')} failed`}
    </p>
  )
}

interface CellsInput extends Omit<MapInput, 'onSelect'> {
  readonly cell: number
  readonly perRow: number
}

// A path for each color, because a thousand servers as separate elements take too long to create and to sort.
const Cells = memo(function Cells({ servers, queues, activity, colors, cell, perRow }: CellsInput) {
  const paths = useMemo(() => {
    const colorOf = ({ type, tier }: DataServer) => (type === 'historical' ? colors.get(tier) : undefined)
    const stateOf = ({ host }: DataServer): MapCell['state'] => {
      const queue = queues[host]
      if ((activity[host]?.failedLoads ?? 0) > 0) return 'failing'
      return queue && queue.segmentsToLoad + queue.segmentsToDrop > 0 ? 'busy' : 'idle'
    }
    const cells = servers.map(
      (server): MapCell => ({ fill: fillOf(server), color: colorOf(server), state: stateOf(server) }),
    )
    return mapPaths(cells, { cell, gap, perRow })
  }, [servers, queues, activity, colors, cell, perRow])
  return paths.map(({ className, d }) => <path key={className} className={className} d={d} />)
})
