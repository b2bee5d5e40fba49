import { countOf } from '@svc/domain/text'
import { useQueryClient } from '@tanstack/react-query'
import { useCaller, useInventory } from '../cluster/index.ts'
import { fetchJson } from '../session/index.ts'
import { ConfirmedButton, formatMinute, Notice, Problem, useWork } from '../ui/index.ts'
import { setClockOffset, useClockOffset } from './clock-offset.ts'
import { daysAt, lastStop, maxDaysAhead, stopAt } from './clock-stops.ts'

const dayMs = 86_400_000
const steps = [
  { label: '+1 day', ms: dayMs },
  { label: '+1 week', ms: 7 * dayMs },
  { label: '+1 month', ms: 30 * dayMs },
] as const
const maxMs = maxDaysAhead * dayMs

/** Moves the preview into the future and, on request, the clock of a simulated cluster to the same time. */
export function ClockBar({ isEdited = false }: { readonly isEdited?: boolean }) {
  const { data: inventory } = useInventory()
  const offsetMs = useClockOffset()
  if (!inventory) return null
  const { now } = inventory
  const isFuture = offsetMs > 0
  const label = isFuture
    ? `Preview of ${formatMinute(now + offsetMs)}`
    : isEdited
      ? 'Preview of an unsaved edit'
      : 'Now'
  return (
    <div className="clock">
      <span className={isFuture || isEdited ? 'pill future' : 'pill'} role="status">
        {label}
      </span>
      <input
        type="range"
        min={0}
        max={lastStop}
        value={stopAt(offsetMs / dayMs)}
        onChange={(event) => setClockOffset(daysAt(Number(event.target.value)) * dayMs)}
        aria-label="Days into the future"
        aria-valuetext={isFuture ? `${countOf(Math.round(offsetMs / dayMs), 'day')} ahead` : 'now'}
      />
      {steps.map((step) => (
        <button
          key={step.label}
          type="button"
          title={step.ms === 30 * dayMs ? '30 days' : undefined}
          disabled={offsetMs >= maxMs}
          onClick={() => setClockOffset(Math.min(offsetMs + step.ms, maxMs))}
        >
          {step.label}
        </button>
      ))}
      <button type="button" disabled={!isFuture} onClick={() => setClockOffset(0)}>
        Back to now
      </button>
      {offsetMs >= maxMs && <span className="hint">Previews end here, after 10 years.</span>}
      <MoveClock
        key={String(isFuture)}
        to={now + offsetMs}
        isDisabled={!isFuture}
        onMoved={() => setClockOffset(0)}
      />
    </div>
  )
}

/** The clock on a screen without previews, if the user may move the clock of the cluster. */
export function ClockOfCluster() {
  const { data: caller } = useCaller()
  return caller?.simulatedClock && caller.state.write ? <ClockBar /> : null
}

/** Says on a screen without previews that it shows the current state, while the clock is in the future. */
export function PresentNotice({ what }: { readonly what: string }) {
  const { data: inventory } = useInventory()
  const offsetMs = useClockOffset()
  if (!inventory || offsetMs === 0) return null
  return (
    <Notice kind="future" role="status">
      <b>This screen shows the current state.</b> The preview of {formatMinute(inventory.now + offsetMs)} does
      not include {what}.
    </Notice>
  )
}

/** Moves the clock of the cluster itself, which cannot go back. */
function MoveClock({
  to,
  isDisabled,
  onMoved,
}: {
  readonly to: number
  readonly isDisabled: boolean
  onMoved(): void
}) {
  const { data: caller } = useCaller()
  const queries = useQueryClient()
  const { problem, isBusy, run } = useWork()
  if (!caller?.simulatedClock || !caller.state.write) return null
  const move = () =>
    run(async () => {
      await fetchJson('/svc/simulation/v1/clock', {
        method: 'POST',
        body: { now: new Date(to).toISOString() },
      })
      await queries.invalidateQueries()
      onMoved()
    })
  return (
    <>
      <ConfirmedButton
        label="Move the clock…"
        question={`Move the cluster's clock to ${formatMinute(to)}? It cannot go back.`}
        confirm="Move the clock"
        isBusy={isBusy}
        isDisabled={isDisabled}
        onConfirm={() => void move()}
      />
      {problem && <Problem>{problem}</Problem>}
    </>
  )
}
