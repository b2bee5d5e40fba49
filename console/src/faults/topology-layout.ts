import type { CallGroup } from '@svc/domain/calls'
import { byNumberedName } from '../formats/index.ts'

/** A server of the cluster. */
export interface TopologyServer {
  /** `virtual` for a virtual server, which runs inside a historical. */
  readonly role: string
  /** Host and port. */
  readonly name: string
  readonly isLeader: boolean
  /** Whether the cluster no longer lists a server that it has listed before. */
  readonly isMissing: boolean
}

/** A server, or many servers of a role, with the place of its box. */
export interface TopologyNode {
  readonly key: string
  readonly role: string
  readonly servers: readonly TopologyServer[]
  /** From 0 to 3. */
  readonly column: number
  /** Center of the box. */
  readonly y: number
}

/** Calls from the servers of one node to those of another. */
export interface TopologyEdge {
  readonly key: string
  readonly from: TopologyNode
  readonly to: TopologyNode
  readonly calls: number
  /** Whether the last call of any kind failed. */
  readonly isFailing: boolean
  /** Where the arrow passes the columns between its ends, in the order of the arrow, so that no box hides it. */
  readonly passes: readonly Pass[]
}

/** A place in a column without a box. */
export interface Pass {
  readonly column: number
  readonly y: number
}

/** The servers of a cluster and the calls between them. */
export interface Topology {
  readonly nodes: readonly TopologyNode[]
  readonly edges: readonly TopologyEdge[]
  readonly height: number
}

/** Height of a box, in pixels. */
export const boxHeight = 62
/** Height of a box with the space below it, in pixels. */
export const rowHeight = 78
// An arrow between two boxes of a column has the same distance to both.
const clearance = (rowHeight - boxHeight) / 2
/** Half the distance between arrows in opposite directions, in pixels: those to the right are higher. */
export const laneOffset = 9
const minHeight = 320
// With more servers of a role, one box stands for all of them.
const maxSeparate = 5

const places: Readonly<Record<string, readonly [column: number, place: 'top' | 'middle' | 'bottom']>> = {
  router: [0, 'middle'],
  broker: [1, 'top'],
  overlord: [1, 'bottom'],
  coordinator: [2, 'middle'],
  historical: [3, 'top'],
  virtual: [3, 'top'],
}
const placeOf = (role: string) => places[role] ?? ([3, 'bottom'] as const)

// Users' requests, which routers forward, are not in the journals of calls.
const forwarding: readonly (readonly [from: string, to: string])[] = [
  ['router', 'broker'],
  ['router', 'coordinator'],
  ['router', 'overlord'],
]

type UnplacedNode = Omit<TopologyNode, 'column' | 'y'>

/** Returns the boxes of servers with their places, and who calls whom. */
export function topologyOf(servers: readonly TopologyServer[], calls: readonly CallGroup[]): Topology {
  const byRole = Map.groupBy(servers, ({ role }) => role)
  const unplaced = [...byRole].flatMap(([role, members]) => nodesOf(role, members))
  const stacks = [0, 1, 2, 3].map((column) => {
    const at = (place: string) =>
      unplaced.filter(({ role }) => placeOf(role)[0] === column && placeOf(role)[1] === place)
    return { top: at('top'), middle: at('middle'), bottom: at('bottom') }
  })
  const height = Math.max(minHeight, ...stacks.map(heightOf))
  const nodes = stacks.flatMap((stack, column) => placed(stack, column, height))
  return { nodes, edges: edgesOf(nodes, calls), height }
}

function nodesOf(role: string, members: readonly TopologyServer[]): UnplacedNode[] {
  const sorted = members.toSorted((a, b) => byNumberedName(a.name, b.name))
  if (sorted.length > maxSeparate) return [{ key: role, role, servers: sorted }]
  return sorted.map((server) => ({ key: `${role} ${server.name}`, role, servers: [server] }))
}

interface Stack {
  readonly top: readonly UnplacedNode[]
  readonly middle: readonly UnplacedNode[]
  readonly bottom: readonly UnplacedNode[]
}

function heightOf({ top, middle, bottom }: Stack): number {
  const isSplit = top.length > 0 && bottom.length > 0
  const rows = isSplit ? 2 * Math.max(top.length, bottom.length) : top.length + middle.length + bottom.length
  return rows * rowHeight
}

/** Places boxes in the upper half, the lower half, or the middle of a column. */
function placed({ top, middle, bottom }: Stack, column: number, height: number): TopologyNode[] {
  const half = height / 2
  const around = (nodes: readonly UnplacedNode[], center: number): TopologyNode[] =>
    nodes.map((node, index) => ({
      ...node,
      column,
      y: center + (index - (nodes.length - 1) / 2) * rowHeight,
    }))
  const fits = (nodes: readonly UnplacedNode[]) => nodes.length * rowHeight <= half
  return [
    ...around(top, fits(top) ? half / 2 : half),
    ...around(middle, half),
    ...around(bottom, fits(bottom) ? half * 1.5 : half),
  ]
}

function edgesOf(nodes: readonly TopologyNode[], calls: readonly CallGroup[]): TopologyEdge[] {
  const nodeOf = new Map(
    nodes.flatMap((node) => node.servers.map(({ role, name }) => [`${role} ${name}`, node] as const)),
  )
  const edges = new Map<string, TopologyEdge>()
  const add = (from: TopologyNode, to: TopologyNode, count: number, isFailing: boolean): void => {
    if (from === to) return
    const key = `${from.key} → ${to.key}`
    const known = edges.get(key)
    edges.set(key, {
      key,
      from,
      to,
      calls: (known?.calls ?? 0) + count,
      isFailing: isFailing || known?.isFailing === true,
      passes: known?.passes ?? passesOf(from, to, nodes),
    })
  }
  for (const [fromRole, toRole] of forwarding)
    for (const from of nodes.filter(({ role }) => role === fromRole))
      for (const to of nodes.filter(({ role }) => role === toRole)) add(from, to, 0, false)
  for (const { from, to, calls: count, lastStatus } of calls) {
    const [caller, called] = [from, to].map(({ role, name }) => nodeOf.get(`${role} ${name}`))
    if (caller && called) add(caller, called, count, lastStatus === null || lastStatus >= 500)
  }
  return [...edges.values()]
}

/** Returns the places without boxes that are closest to a straight line between two boxes. */
function passesOf(from: TopologyNode, to: TopologyNode, nodes: readonly TopologyNode[]): Pass[] {
  const columns = Math.abs(to.column - from.column)
  const step = Math.sign(to.column - from.column)
  return Array.from({ length: Math.max(0, columns - 1) }, (_, index) => {
    const column = from.column + step * (index + 1)
    const straight = from.y + ((to.y - from.y) * (index + 1)) / columns - step * laneOffset
    const centers = nodes.filter((node) => node.column === column).map(({ y }) => y)
    const reach = boxHeight / 2 + clearance
    const isFree = (y: number): boolean => centers.every((center) => Math.abs(center - y) >= reach)
    const [closest = straight] = [straight, ...centers.flatMap((center) => [center - reach, center + reach])]
      .filter(isFree)
      .sort((a, b) => Math.abs(a - straight) - Math.abs(b - straight))
    return { column, y: closest }
  })
}
