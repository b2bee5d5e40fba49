import {
  type AnsweredFault,
  type FaultKind,
  faultLimits,
  faultsPath,
  hasDelay,
  kindsBetweenServers,
} from '@svc/domain/faults'
import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { send } from '../session/index.ts'
import { Name, Notice, Problem, useWork } from '../ui/index.ts'
import { faultChoices } from './fault-text.ts'
import { nameOf } from './topology.tsx'
import type { TopologyEdge, TopologyNode } from './topology-layout.ts'

const durations = [
  { label: '10 s', ms: 10_000 },
  { label: '30 s', ms: 30_000 },
  { label: '1 min', ms: 60_000 },
  { label: '5 min', ms: 300_000 },
  { label: 'until you clear it', ms: undefined },
] as const

/** What a fault affects: servers, or the calls from servers to others. */
export type FaultPlace =
  | { readonly kind: 'node'; readonly node: TopologyNode }
  | { readonly kind: 'edge'; readonly edge: TopologyEdge }

/** The form that injects a fault into a server, or between two servers. */
export function FaultForm({ place }: { readonly place: FaultPlace }) {
  const kinds = faultChoices.filter(({ kind }) => place.kind === 'node' || kindsBetweenServers.includes(kind))
  const [kind, setKind] = useState<FaultKind>('latency')
  const [chosenDuration, setDuration] = useState<string>()
  const [delay, setDelay] = useState('1')
  const [percent, setPercent] = useState('100')
  const [target, setTarget] = useState(() => firstTarget(place.kind === 'node' ? place.node : place.edge.to))
  const [from, setFrom] = useState(() => (place.kind === 'edge' ? firstTarget(place.edge.from) : ''))
  const { inject, problem, isBusy } = useInject()
  const duration = chosenDuration ?? (kind === 'kill' ? 'until you clear it' : '30 s')
  const [delayMs, probability] = [Math.round(Number(delay) * 1000), Number(percent) / 100]
  const { min, max } = faultLimits.delayMs
  const isValid = delayMs >= min && delayMs <= max && probability > 0 && probability <= 1
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const forMs = durations.find(({ label }) => label === duration)?.ms
    void inject({
      kind,
      target,
      ...(place.kind === 'edge' ? { from } : {}),
      ...(hasDelay(kind) ? { delayMs } : {}),
      ...(probability < 1 ? { probability } : {}),
      ...(forMs === undefined ? {} : { forMs }),
    })
  }
  return (
    <form className="review" onSubmit={submit} aria-label="Inject a fault">
      <KindChoice kinds={kinds} value={kind} onChange={setKind} />
      <p className="hint">{effectText(kind, place)}</p>
      {place.kind === 'edge' && (
        <ServerChoice label="Calls from" node={place.edge.from} value={from} onChange={setFrom} isSingle />
      )}
      <ServerChoice
        label={place.kind === 'edge' ? 'Calls to' : 'Server'}
        node={place.kind === 'edge' ? place.edge.to : place.node}
        value={target}
        onChange={setTarget}
        isSingle={place.kind === 'edge'}
      />
      <div className="fields">
        <DurationChoice kind={kind} value={duration} onChange={setDuration} />
        {hasDelay(kind) && (
          <label>
            Delay in seconds
            <input inputMode="decimal" value={delay} onChange={(event) => setDelay(event.target.value)} />
          </label>
        )}
        <label>
          {kind === 'kill' ? 'Chance per second in %' : 'Affected share in %'}
          <input inputMode="decimal" value={percent} onChange={(event) => setPercent(event.target.value)} />
        </label>
      </div>
      {target === location.host && (
        <Notice kind="warning">
          This router serves this page, so the page may lose its connection until the fault ends.
        </Notice>
      )}
      {problem && <Problem>{problem}</Problem>}
      <div className="row">
        <button type="submit" className="primary" disabled={!isValid || isBusy}>
          Inject fault
        </button>
      </div>
    </form>
  )
}

function KindChoice({
  kinds,
  value,
  onChange,
}: {
  readonly kinds: readonly { readonly kind: FaultKind; readonly label: string }[]
  readonly value: FaultKind
  onChange(kind: FaultKind): void
}) {
  return (
    <fieldset className="row choices">
      <legend className="unseen">Fault</legend>
      {kinds.map(({ kind, label }) => (
        <button key={kind} type="button" aria-pressed={value === kind} onClick={() => onChange(kind)}>
          {label}
        </button>
      ))}
    </fieldset>
  )
}

function DurationChoice({
  kind,
  value,
  onChange,
}: {
  readonly kind: FaultKind
  readonly value: string
  onChange(label: string): void
}) {
  return (
    <label>
      For
      <select value={value} onChange={(event) => onChange(event.target.value)}>
        {durations.map(({ label, ms }) => (
          <option key={label} value={label}>
            {kind === 'kill' && ms === undefined ? 'once' : label}
          </option>
        ))}
      </select>
    </label>
  )
}

/** One server is chosen already; many are a role, unless they are virtual servers, which have none. */
const firstTarget = ({ role, servers }: TopologyNode): string =>
  servers.length > 1 && role !== 'virtual' ? role : servers[0]!.name

function effectText(kind: FaultKind, place: FaultPlace): string {
  if (place.kind === 'node') {
    const { effect, virtualEffect } = faultChoices.find((choice) => choice.kind === kind)!
    return place.node.role === 'virtual' ? virtualEffect : effect
  }
  const effect = kind === 'cut' ? 'fails without a response' : 'is delayed'
  return `Each request from the first server to the second ${effect}. Other requests to and from these servers are not affected.`
}

function ServerChoice({
  label,
  node,
  value,
  onChange,
  isSingle,
}: {
  readonly label: string
  readonly node: TopologyNode
  readonly value: string
  onChange(value: string): void
  /** Whether only one server can be chosen. */
  readonly isSingle: boolean
}) {
  const { role, servers } = node
  if (servers.length === 1)
    return (
      <p>
        <span className="dim">{label}</span> <Name>{nameOf(node)}</Name>
      </p>
    )
  const canBeAll = !isSingle && role !== 'virtual'
  return (
    <label>
      {label}
      <select value={value} onChange={(event) => onChange(event.target.value)}>
        {canBeAll && <option value={role}>{`all ${nameOf(node)}`}</option>}
        {servers.map(({ name }) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  )
}

/** Sends faults, and says why one was refused. */
function useInject() {
  const queries = useQueryClient()
  const { problem, isBusy, run } = useWork()
  const inject = (body: object): Promise<void> =>
    run(async () => {
      const injected = (await (await send(faultsPath, { method: 'POST', body })).json()) as AnsweredFault
      // A leader that is killed cannot list its faults, and may not be back before they end.
      queries.setQueryData<readonly AnsweredFault[]>(['faults'], (known = []) => [...known, injected])
      await queries.invalidateQueries({ queryKey: ['faults'] })
    })
  return { inject, problem, isBusy }
}
