import { formatCount, formatList } from '@svc/domain/text'
import type { DataServer, DutyGroup, MeasuredRole, Metrics, TaskStatus } from '../cluster/index.ts'
import { formatSpan } from '../ui/index.ts'

/** What needs attention: a sentence, and the screen that shows more. */
export interface Concern {
  readonly text: string
  readonly href?: string
}

const dayMs = 86_400_000
/** When a certificate is about to expire. The same as in the alerts of the monitoring. */
const certificateNoticeDays = 14
const maxQueueAgeSeconds = 900
const fullShare = 0.9
// A run may fail while a server starts.
const maxTolerated = 2

/** When the certificates of a server expire: how long from now, by the use of the certificate. */
export function certificateEnds(metrics: Metrics): ReadonlyMap<string, number> {
  const samples = metrics.get('svc_tls_certificate_expiry_seconds') ?? []
  return new Map(samples.map(({ labels, value }) => [labels.certificate ?? '', value * 1000]))
}

/** Returns the certificates that expire soon or have expired. Certificates that expire together share a sentence. */
export function certificateConcerns(metrics: ReadonlyMap<MeasuredRole, Metrics>): Concern[] {
  const ending = [...metrics].flatMap(([role, one]) =>
    [...certificateEnds(one)]
      .filter(([, ms]) => ms < certificateNoticeDays * dayMs)
      .map(([use, ms]) => ({ role, use, when: ms < 0 ? undefined : formatSpan(ms) })),
  )
  return [...Map.groupBy(ending, ({ use, when }) => `${use} ${when}`).values()].map((list) => {
    const { use, when } = list[0]!
    const roles = formatList(list.map(({ role }) => `the ${role}`))
    const subject = `The ${use} ${list.length === 1 ? 'certificate' : 'certificates'} of ${roles}`
    if (when === undefined) return { text: `${subject} ${list.length === 1 ? 'has' : 'have'} expired.` }
    return { text: `${subject} ${list.length === 1 ? 'expires' : 'expire'} in ${when}.` }
  })
}

/** Returns what the servers report about themselves, their load queues, and their tasks. */
export function metricConcerns(metrics: ReadonlyMap<MeasuredRole, Metrics>): Concern[] {
  const concerns: Concern[] = []
  for (const [role, one] of metrics) {
    if (one.get('svc_ready')?.some(({ value }) => value === 0))
      concerns.push({ text: `The ${role} is not ready. Its log says why.` })
  }
  for (const { labels, value } of metrics.get('coordinator')?.get('svc_load_queue_oldest_seconds') ?? []) {
    if (value > maxQueueAgeSeconds)
      concerns.push({
        text: `A load in tier ${labels.tier} has been pending for ${formatSpan(value * 1000)}.`,
        href: '/tiers',
      })
  }
  return concerns
}

/** Returns the tiers that are almost full. */
export function tierConcerns(servers: readonly DataServer[]): Concern[] {
  const historicals = servers.filter(({ type }) => type === 'historical')
  return [...Map.groupBy(historicals, ({ tier }) => tier)].flatMap(([tier, list]) => {
    const used = list.reduce((sum, { currSize }) => sum + currSize, 0)
    const max = list.reduce((sum, { maxSize }) => sum + maxSize, 0)
    if (max === 0 || used / max <= fullShare) return []
    return [{ text: `Tier ${tier} is ${Math.floor((100 * used) / max)}% full.`, href: '/tiers' }]
  })
}

/** Returns the duties that failed since their leader started. */
export function dutyConcerns(groups: Readonly<Record<string, readonly DutyGroup[]>>): Concern[] {
  return Object.entries(groups).flatMap(([role, list]) =>
    list.flatMap(({ failures, runs }) =>
      Object.entries(failures)
        .filter(([, count]) => count > maxTolerated)
        .map(([duty, count]) => ({
          text: `Duty ${duty} of the ${role} failed in ${formatCount(count)} of ${formatCount(runs)} runs.`,
        })),
    ),
  )
}

/**
 * Returns a sentence about failed tasks, if there are any within a day. `tasks` are the newest ones; if there are
 * `maxTasks`, there may be more within that day.
 */
export function taskConcerns(tasks: readonly TaskStatus[], now: number, maxTasks: number): Concern[] {
  const recent = tasks.filter(({ createdTime }) => now - Date.parse(createdTime) < dayMs)
  const failed = recent.filter(({ status }) => status === 'FAILED')
  if (failed.length === 0) return []
  const atLeast = recent.length >= maxTasks ? 'At least ' : ''
  const count = failed.length === 1 ? `${atLeast ? 'one' : 'A'} task` : `${formatCount(failed.length)} tasks`
  const names = [...new Set(failed.map(({ dataSource }) => dataSource))]
  return [
    {
      text: `${atLeast}${count} for ${names.slice(0, 3).join(', ')}${names.length > 3 ? ' and others' : ''} failed within the last day.`,
      href: '/runs',
    },
  ]
}
