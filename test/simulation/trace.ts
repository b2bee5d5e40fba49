import type { WorkStep } from '../faults/schedule.ts'
import type { SimulationResult } from './run-simulation.ts'
import type { SimulatedFault, SimulationPlan } from './schedule.ts'

/** Log messages at the level info that belong to the story. */
const notable = new Set([
  'Became leader',
  'Ready',
  'Task started',
  'Task succeeded',
  'Historical left the cluster',
])

// One mistake often has the same effect on many segments.
const maxViolations = 5

interface TimedLine {
  readonly atMs: number
  readonly text: string
}

/** Returns lines about what happened in a simulation: requests, faults, what servers logged, and what was wrong. */
export function traceOf(
  plan: SimulationPlan,
  { logs, entries, violations, startedAtMs }: SimulationResult,
): string[] {
  const skipped = new Set(
    entries.flatMap((entry) => (entry.type === 'faultEnd' && entry.skipped ? [entry.id] : [])),
  )
  const outcomes = new Map(entries.flatMap((entry) => (entry.type === 'answer' ? [[entry.id, entry]] : [])))
  const lines: TimedLine[] = []
  const begun = new Map(
    entries.flatMap((entry) => (entry.type === 'fault' ? [[entry.step.id, entry.at]] : [])),
  )
  for (const { id, forMs, fault } of plan.faults) {
    const atMs = begun.get(id)
    if (atMs === undefined || skipped.has(id)) continue
    lines.push({ atMs, text: `FAULT ${sentenceOf(fault)}` })
    if (forMs > 0) lines.push({ atMs: atMs + forMs, text: `The fault of ${inSeconds(atMs)} ends` })
  }
  for (const entry of entries)
    if (entry.type === 'work') {
      const answer = outcomes.get(entry.step.id)
      const outcome =
        answer === undefined ? 'no answer' : `${answer.outcome} after ${Math.round(answer.at - entry.at)} ms`
      lines.push({ atMs: entry.at, text: `REQUEST ${requestOf(entry.step)}: ${outcome}` })
    }
  for (const { atMs, decommissioned } of plan.decommissioning)
    lines.push({ atMs, text: `REQUEST to decommission ${decommissioned ?? 'no server'}` })
  for (const { atMs } of plan.cancellations)
    lines.push({ atMs, text: 'REQUEST to cancel the newest unfinished task' })
  for (const { atMs, instance, level, message, details } of logs)
    if (atMs >= startedAtMs && (level === 'warn' || level === 'error' || notable.has(message)))
      lines.push({ atMs: atMs - startedAtMs, text: `${instance}: ${message} ${JSON.stringify(details)}` })
  const sorted = lines.sort((a, b) => a.atMs - b.atMs).map(({ atMs, text }) => `${inSeconds(atMs)} ${text}`)
  return [
    ...sorted,
    ...violations.slice(0, maxViolations).map(({ invariant, what }) => `WRONG  ${invariant}: ${what}`),
  ]
}

const inSeconds = (ms: number): string => `${(ms / 1000).toFixed(3).padStart(8)} s`

const requestOf = ({ id, to, work: { kind, ...rest } }: WorkStep): string =>
  `${id} to ${to}: ${kind} ${JSON.stringify(rest).slice(0, 120)}`

function sentenceOf(fault: SimulatedFault): string {
  switch (fault.kind) {
    case 'kill':
      return `${fault.target} is killed after ${fault.steps} steps${fault.losesPower ? ', and loses power' : ''}`
    case 'freeze':
      return `${fault.target} hangs`
    case 'flush':
      return 'Redis loses all data'
    case 'link':
      return `The connection of ${fault.target} to ${fault.to ?? 'all others'} is ${fault.state}`
    case 'partition':
      return `${fault.members.join(', ')} reach only each other${fault.reachesStores ? ' and the stores' : ''}`
    case 'failStatements':
      return `Statements of ${fault.target} fail with a probability of ${fault.probability}`
    case 'moveClock':
      return `The clock of ${fault.target} is ${Math.round(fault.byMs / 1000)} s off`
    case 'fillDisk':
      return `The disk of ${fault.target} is full`
    case 'slowDisk':
      return `The disk of ${fault.target} is slow`
    case 'misread':
      return `The disk of ${fault.target} returns wrong bytes`
    case 'lieAboutSyncs':
      return `The disk of ${fault.target} ignores syncs, and loses power at the end`
    case 'corrupt':
      return `A file in the cache of ${fault.target} changes, and the server restarts`
  }
}
