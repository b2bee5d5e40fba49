import type { AnsweredFault } from '@svc/domain/faults'
import { formatCount } from '@svc/domain/text'
import { type KeyboardEvent, useRef } from 'react'
import { Name, useWidth } from '../ui/index.ts'
import { faultText, remainingText } from './fault-text.ts'
import {
  boxHeight,
  laneOffset,
  type TopologyEdge,
  type TopologyNode,
  type Topology as TopologyOfCluster,
} from './topology-layout.ts'
import './faults.css'

const boxWidth = 160
// Four columns of boxes, with space for the arrows between them. A window of 1280 pixels has this much space.
const minWidth = 4 * boxWidth + 3 * 52

interface TopologyInput {
  readonly topology: TopologyOfCluster
  readonly faults: readonly AnsweredFault[]
  /** The key of the selected node or edge. */
  readonly selected: string | undefined
  readonly now: number
  onSelect(key: string): void
}

/** The servers as boxes, and the calls between them as arrows. Both can be chosen. */
export function Topology({ topology, faults, selected, now, onSelect }: TopologyInput) {
  const box = useRef<HTMLDivElement>(null)
  const width = useWidth(box)
  const { nodes, edges, height } = topology
  const leftOf = (column: number): number => (column * Math.max(0, width - boxWidth)) / 3
  return (
    <div className="topology-frame">
      <div ref={box} className="topology" style={{ height, minWidth }} role="group" aria-label="Topology">
        {width > 0 && (
          <svg width={width} height={height}>
            <title>Calls between servers</title>
            <Arrows />
            {edges.map((edge) => (
              <Edge
                key={edge.key}
                edge={edge}
                points={pointsOf(edge, leftOf)}
                faults={faults.filter((fault) => isOnEdge(fault, edge))}
                isSelected={edge.key === selected}
                onSelect={() => onSelect(edge.key)}
              />
            ))}
          </svg>
        )}
        {width > 0 &&
          nodes.map((node) => (
            <Box
              key={node.key}
              node={node}
              left={leftOf(node.column)}
              faults={faults.filter((fault) => isOnNode(fault, node))}
              now={now}
              isSelected={node.key === selected}
              onSelect={() => onSelect(node.key)}
            />
          ))}
      </div>
    </div>
  )
}

/** Whether a fault affects all calls of a server of a node. A fault on a role does not name virtual servers. */
const isOnNode = ({ target, from }: AnsweredFault, { role, servers }: TopologyNode): boolean =>
  from === null && (target === role || servers.some(({ name }) => name === target))

const isOnEdge = ({ target, from: caller }: AnsweredFault, { from, to }: TopologyEdge): boolean =>
  from.servers.some(({ name }) => name === caller) && to.servers.some(({ name }) => name === target)

const Arrows = () => (
  <defs>
    {['plain', 'faulty', 'selected'].map((kind) => (
      <marker
        key={kind}
        id={`arrow-${kind}`}
        className={kind}
        viewBox="0 0 8 8"
        refX={7}
        refY={4}
        markerWidth={8}
        markerHeight={8}
        markerUnits="userSpaceOnUse"
        orient="auto"
      >
        <path d="M0,0L8,4L0,8Z" />
      </marker>
    ))}
  </defs>
)

interface Points {
  readonly path: string
  readonly middle: readonly [x: number, y: number]
}

/** Returns a curve from the side of one box to the side of another, which passes the boxes in between. */
function pointsOf({ from, to, passes }: TopologyEdge, leftOf: (column: number) => number): Points {
  if (from.column === to.column) return pointsBeside(from, to, leftOf(from.column))
  const isForward = from.column < to.column
  const offset = isForward ? -laneOffset : laneOffset
  const [near, far] = isForward ? [0, boxWidth] : [boxWidth, 0]
  // Level stretches, which curves connect: the sides of both boxes, and across each column in between.
  const stretches = [
    [leftOf(from.column) + far, leftOf(from.column) + far, from.y + offset],
    ...passes.map(({ column, y }) => [leftOf(column) + near, leftOf(column) + far, y]),
    [leftOf(to.column) + near, leftOf(to.column) + near, to.y + offset],
  ] as [start: number, end: number, y: number][]
  const curves = stretches.slice(1).map(([x2, after, y2], index) => {
    const [, x1, y1] = stretches[index]!
    const bend = (x2 - x1) * 0.45
    return `C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}${after === x2 ? '' : `H${after}`}`
  })
  const [[, x, y], [x2, , y2]] = [stretches[0]!, stretches[1]!]
  const pass = stretches.length > 2 ? stretches[1] : undefined
  return {
    path: `M${x},${y}${curves.join('')}`,
    middle: pass ? [(pass[0] + pass[1]) / 2, pass[2]] : [(x + x2) / 2, (y + y2) / 2],
  }
}

/** Returns a curve between two boxes of the same column: on their right, or on their left in the last column. */
function pointsBeside(from: TopologyNode, to: TopologyNode, left: number): Points {
  const isLast = from.column === 3
  const x = isLast ? left : left + boxWidth
  const bend = isLast ? x - 44 : x + 44
  const offset = from.y < to.y ? laneOffset : -laneOffset
  const [start, end] = [from.y + offset, to.y - offset]
  return {
    path: `M${x},${start}C${bend},${start} ${bend},${end} ${x},${end}`,
    middle: [isLast ? bend + 12 : bend - 12, (start + end) / 2],
  }
}

function Edge({
  edge,
  points: { path, middle },
  faults,
  isSelected,
  onSelect,
}: {
  readonly edge: TopologyEdge
  readonly points: Points
  readonly faults: readonly AnsweredFault[]
  readonly isSelected: boolean
  onSelect(): void
}) {
  const [fault] = faults
  const kind = isSelected ? 'selected' : fault || edge.isFailing ? 'faulty' : 'plain'
  const text = fault ? faultText(fault) : edge.isFailing ? 'failing' : undefined
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' && event.key !== ' ') return
    event.preventDefault()
    onSelect()
  }
  return (
    <g
      className={`edge ${kind}`}
      role="button"
      tabIndex={0}
      aria-pressed={isSelected}
      aria-label={`Calls from ${nameOf(edge.from)} to ${nameOf(edge.to)}${text === undefined ? '' : `, ${text}`}`}
      onClick={onSelect}
      onKeyDown={onKey}
    >
      <path className="hit" d={path} />
      <path className="line" d={path} markerEnd={`url(#arrow-${kind})`} />
      {text && (
        <text x={middle[0]} y={middle[1] - 6} textAnchor="middle">
          {text}
        </text>
      )}
    </g>
  )
}

/** Returns the role of a node with its server, or with the number of its servers. */
export function nameOf({ role, servers }: TopologyNode): string {
  const text = role === 'virtual' ? 'virtual server' : role
  return servers.length === 1 ? `${text} ${servers[0]!.name}` : `${formatCount(servers.length)} ${text}s`
}

function Box({
  node,
  left,
  faults,
  now,
  isSelected,
  onSelect,
}: {
  readonly node: TopologyNode
  readonly left: number
  readonly faults: readonly AnsweredFault[]
  readonly now: number
  readonly isSelected: boolean
  onSelect(): void
}) {
  const { role, servers, y } = node
  const missing = servers.filter(({ isMissing }) => isMissing).length
  const isTroubled = missing > 0 || faults.length > 0
  // The box is too narrow for it.
  const remaining = faults.length === 1 ? remainingText(faults[0]!, now) : undefined
  return (
    <button
      type="button"
      className={isTroubled ? 'box troubled' : 'box'}
      style={{ left, top: y - boxHeight / 2, width: boxWidth, height: boxHeight }}
      aria-pressed={isSelected}
      onClick={onSelect}
    >
      <b>{role === 'virtual' ? (servers.length === 1 ? 'virtual server' : 'virtual servers') : role}</b>
      <span className="dim numbers">
        {servers.length === 1 ? <Name>{servers[0]!.name}</Name> : `${formatCount(servers.length)} servers`}
      </span>
      <span className={isTroubled ? 'future-text' : 'dim'} title={remaining}>
        {stateOf(node, faults, missing)}
      </span>
    </button>
  )
}

function stateOf({ role, servers }: TopologyNode, faults: readonly AnsweredFault[], missing: number): string {
  const [fault] = faults
  const missingText =
    missing === 0 ? '' : servers.length === 1 ? 'missing' : `${formatCount(missing)} missing`
  if (faults.length > 1)
    return [`${formatCount(faults.length)} faults`, missingText].filter(Boolean).join(', ')
  if (fault) return [missingText, faultText(fault)].filter(Boolean).join(', ')
  if (missing > 0) return missingText
  if (role === 'virtual') return 'inside historicals'
  return servers.some(({ isLeader }) => isLeader) ? 'leader' : ''
}
