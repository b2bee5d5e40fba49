import type { DiscoveredNode, Discovery } from './discovery.ts'

/** Returns the servers that may run tasks: overlords and workers. */
export const taskWorkers = (discovery: Pick<Discovery, 'nodes'>): readonly DiscoveredNode[] => [
  ...discovery.nodes('overlord'),
  ...discovery.nodes('worker'),
]

/** Returns the number of task slots that a server has announced. */
export const capacityOf = ({ details }: Pick<DiscoveredNode, 'details'>): number =>
  Number(details.workerCapacity ?? 0)

/** Returns the number of task slots of the cluster. */
export const totalWorkerCapacity = (discovery: Pick<Discovery, 'nodes'>): number =>
  taskWorkers(discovery).reduce((total, node) => total + capacityOf(node), 0)
