import { countOf, formatBytes } from '@svc/domain/text'
import { memo } from 'react'
import type { DataServer, QueueSize, ServerActivity } from '../cluster/index.ts'
import { Bytes, formatShare, Meter, Name, TierMark, visible } from '../ui/index.ts'
import { queueText } from './queue-text.ts'
import type { ServerFate } from './use-server-changes.ts'

interface CardInput {
  readonly server: DataServer
  readonly queue: QueueSize | undefined
  readonly activity: ServerActivity | undefined
  readonly color: number | undefined
  /** Whether the user looks for this server. */
  readonly isFound: boolean
  /** What is assumed about it. */
  readonly fate: ServerFate | undefined
  /** Shows why the server is in its state; undefined if that is unknown. */
  readonly onExplain: ((server: DataServer) => void) | undefined
  /** Undefined if nothing can be assumed about it. */
  readonly onFate: ((host: string, fate: ServerFate) => void) | undefined
}

/** A server: how full it is, what it loads, and what can be assumed about it. Rendered again only if one of these changes. */
export const ServerCard = memo(function ServerCard({
  server,
  queue,
  activity,
  color,
  isFound,
  fate,
  onExplain,
  onFate,
}: CardInput) {
  const { host, tier, type, currSize, maxSize } = server
  return (
    <article
      className={`card${isFound ? ' found' : ''}${fate === undefined ? '' : ' assumed'}`}
      aria-label={visible(host)}
    >
      <div className="row between">
        <span className="host" title={visible(host)}>
          <TierMark color={color} />
          <b>
            <Name>{host}</Name>
          </b>
        </span>
        <span className="dim" title={type === 'historical' ? visible(tier) : undefined}>
          {type === 'historical' ? <Name>{tier}</Name> : type}
        </span>
      </div>
      <Meter label="Fill" value={currSize} max={maxSize} color={color} />
      <div className="row between numbers small">
        <span>
          <Bytes of={currSize} /> of <Bytes of={maxSize} />, {formatShare(currSize, maxSize)}
        </span>
        <span className="dim">{queueText(queue)}</span>
      </div>
      {onExplain && (
        <div className="row between numbers small">
          <Activity activity={activity} />
          <button
            type="button"
            className="link"
            aria-label={`Why? ${visible(host)}`}
            onClick={() => onExplain(server)}
          >
            Why?
          </button>
        </div>
      )}
      {onFate && <FateButtons host={host} fate={fate} onToggle={(next) => onFate(host, next)} />}
    </article>
  )
})

/** How fast a server loads, and how many loads it failed. The space for it is always there, so nothing jumps. */
function Activity({ activity }: { readonly activity: ServerActivity | undefined }) {
  const { bytesPerSecond = null, failedLoads = 0, lastError } = activity ?? {}
  return (
    <span>
      <span className="dim">
        {bytesPerSecond === null ? 'load rate not measured' : `loads ${formatBytes(bytesPerSecond)}/s`}
      </span>
      {failedLoads > 0 && (
        <span className="future-text" title={lastError ?? undefined}>
          {' '}
          {countOf(failedLoads, 'load')} failed
        </span>
      )}
    </span>
  )
}

const fates = [
  { fate: 'drained', label: 'is drained' },
  { fate: 'failed', label: 'fails' },
] as const

/** Assumes that a server is drained or fails. Nothing happens to the server itself. */
function FateButtons({
  host,
  fate,
  onToggle,
}: {
  readonly host: string
  readonly fate: ServerFate | undefined
  onToggle(fate: ServerFate): void
}) {
  return (
    <div className="row small">
      <span className="dim">What if it</span>
      {fates.map((one) => (
        <button
          key={one.fate}
          type="button"
          className="chip"
          aria-pressed={fate === one.fate}
          aria-label={`${one.label}: ${visible(host)}`}
          onClick={() => onToggle(one.fate)}
        >
          {one.label}
        </button>
      ))}
    </div>
  )
}
