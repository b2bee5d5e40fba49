import type { AnsweredFault } from '@svc/domain/faults'
import { useEffect, useMemo, useRef, useState } from 'react'
import {
  useClusterNodes,
  useClusterState,
  useDataServers,
  useInventory,
  useLeaders,
} from '../cluster/index.ts'
import { sumOf } from '../sum-of.ts'
import { faultText } from './fault-text.ts'
import { eventsBetween, type Observation } from './recovery-events.ts'
import type { TopologyServer } from './topology-layout.ts'

/** Something that happened while the page was open. */
export interface RecoveryEvent {
  readonly id: number
  /** Epoch milliseconds of this browser: the clock of the cluster may be simulated. */
  readonly at: number
  readonly text: string
}

const maxEvents = 30

/** The servers of the cluster, including those that were there while the page was open and are missing now. */
export function useTopologyServers(): readonly TopologyServer[] | undefined {
  const { data: nodes } = useClusterNodes()
  const { data: leaders } = useLeaders()
  const { data: dataServers, isPending } = useDataServers()
  const seen = useRef(new Map<string, TopologyServer>())
  return useMemo(() => {
    // Until the virtual servers are known, too, they would seem to come back.
    if (!nodes || isPending) return undefined
    const listed = Object.entries(nodes).flatMap(([role, list]) =>
      list.map((node) => ({ role, name: `${node.host}:${node.tlsPort ?? node.plaintextPort}` })),
    )
    const known = new Set(listed.map(({ name }) => name))
    const virtual = (dataServers ?? [])
      .filter(({ host, type }) => type === 'historical' && !known.has(host) && !isSeenAs(seen.current, host))
      .map(({ host }) => ({ role: 'virtual', name: host }))
    const present = new Map(
      [...listed, ...virtual].map(({ role, name }): [string, TopologyServer] => [
        `${role} ${name}`,
        { role, name, isLeader: (leaders ?? []).some((url) => url.endsWith(`//${name}`)), isMissing: false },
      ]),
    )
    for (const [key, server] of present) seen.current.set(key, server)
    return [...seen.current].map(
      ([key, server]) => present.get(key) ?? { ...server, isLeader: false, isMissing: true },
    )
  }, [nodes, leaders, dataServers, isPending])
}

/** Whether a name is that of a historical which is missing now, and not of a virtual server. */
const isSeenAs = (seen: ReadonlyMap<string, TopologyServer>, name: string): boolean =>
  seen.has(`historical ${name}`)

/** What happened to the cluster while the page was open, newest first. */
export function useRecoveryEvents(
  servers: readonly TopologyServer[] | undefined,
  faults: readonly AnsweredFault[] | undefined,
): readonly RecoveryEvent[] {
  const { data: state, isError } = useClusterState()
  const { data: leaders } = useLeaders()
  const { data: inventory } = useInventory()
  const [events, setEvents] = useState<readonly RecoveryEvent[]>([])
  const last = useRef<Observation>(undefined)
  const observed = useMemo((): Observation | undefined => {
    if (!servers || !faults || !state) return undefined
    const [coordinator = '', overlord = ''] = leaders ?? []
    return {
      servers: new Set(
        servers.filter(({ isMissing }) => !isMissing).map(({ role, name }) => `${role} ${name}`),
      ),
      leaders: leaders ? { coordinator: addressOf(coordinator), overlord: addressOf(overlord) } : {},
      isReachable: !isError,
      isSettled: state.settled,
      unserved: sumOf(inventory?.datasources ?? [], ({ unserved }) => unserved),
      faults: new Set(faults.map(describe)),
    }
  }, [servers, faults, state, isError, leaders, inventory])
  useEffect(() => {
    if (!observed) return
    const before = last.current
    last.current = observed
    if (!before) return
    const texts = eventsBetween(before, observed)
    if (texts.length === 0) return
    const at = Date.now()
    setEvents((known) => {
      const firstId = (known[0]?.id ?? 0) + texts.length
      const added = texts.map((text, index) => ({ id: firstId - index, at, text }))
      return [...added, ...known].slice(0, maxEvents)
    })
  }, [observed])
  return events
}

const addressOf = (url: string): string => url.replace(/^\w+:\/\//, '')

const describe = (fault: AnsweredFault): string =>
  `${faultText(fault)} (${fault.from === null ? fault.target : `calls from ${fault.from} to ${fault.target}`})`
