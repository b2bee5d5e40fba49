import { countOf, formatCount, formatList } from '@svc/domain/text'
import { dayMs } from '@svc/domain/time'
import { certificateNoticeMs, type ServerCertificates } from '../answers/index.ts'
import type {
  ClusterState,
  DataServer,
  DutyGroup,
  MeasuredRole,
  Metrics,
  ServerProblem,
  TaskStatus,
} from '../cluster/index.ts'
import { formatDuration, formatSpan } from '../formats/index.ts'
import { sumOf } from '../sum-of.ts'

/** What needs attention: a sentence, and the screen that shows more. */
export interface Concern {
  readonly text: string
  readonly href?: string
}

const maxQueueAgeSeconds = 900
const fullShare = 0.9

const nameOf = ({ role, server }: { readonly role: string; readonly server: string }): string =>
  `${role} ${server}`

/**
 * Returns what the cluster is doing; why it is not settled, too, if its load queues are empty. `isLoading` is whether they
 * contain anything.
 */
export function stateText(
  { known, settled, paused, reasons, shortages }: ClusterState,
  isLoading: boolean,
): string {
  if (!known) return 'The leader is waiting for servers to report.'
  if (settled && shortages.length === 0)
    return 'The cluster is settled: every replica is where the rules require it, and all load queues are empty.'
  if (settled) return 'The cluster is settled: all load queues are empty, but some replicas cannot be loaded.'
  if (paused) return 'Coordination is paused.'
  if (isLoading) return 'The cluster is loading, moving, or dropping replicas to match the rules.'
  return ['The cluster is not settled yet', ...reasons].map((sentence) => `${sentence}.`).join(' ')
}

/** Returns what prevents the cluster from becoming settled, and which replicas are missing. */
export const stateConcerns = ({ known, paused, reasons, shortages }: ClusterState): Concern[] =>
  [
    ...(known ? [] : reasons),
    ...(paused ? ['Coordination is paused, so no loads, moves, or drops are requested.'] : []),
    ...shortages,
  ].map((text) => ({ text }))

/** Returns the servers that report a problem or stopped responding, with the reason. */
export const serverConcerns = (problems: readonly ServerProblem[]): Concern[] =>
  problems.map((one) => ({
    text: `The ${nameOf(one)} is ${one.state === 'missing' ? 'missing' : 'not ready'}: ${one.problem}.`,
  }))

/** A certificate, with when it expires. */
export interface CertificateEnd {
  /** Whose certificate it is, such as `historical 10.0.0.1:8083`. */
  readonly owner: string
  readonly use: 'server' | 'client' | 'authority'
  /** How long from now; undefined if the server is unreachable. */
  readonly leftMs: number | undefined
}

/** Returns when all certificates expire, soonest first. Client certificates are known only for servers whose metrics are. */
export function certificateEnds(
  certificates: ServerCertificates,
  metrics: ReadonlyMap<MeasuredRole, Metrics>,
): CertificateEnd[] {
  const now = Date.parse(certificates.time)
  const clients = [...metrics].flatMap(([role, one]) =>
    (one.get('svc_tls_certificate_expiry_seconds') ?? [])
      .filter(({ labels }) => labels.certificate === 'client')
      .map(({ value }): CertificateEnd => ({ owner: role, use: 'client', leftMs: value * 1000 })),
  )
  const ends = [
    ...certificates.servers.map(
      (one): CertificateEnd => ({
        owner: nameOf(one),
        use: 'server',
        leftMs: one.certificate === null ? undefined : Date.parse(one.certificate.validTo) - now,
      }),
    ),
    ...certificates.authorities.map(
      ({ subject, validTo }): CertificateEnd => ({
        owner: subject,
        use: 'authority',
        leftMs: Date.parse(validTo) - now,
      }),
    ),
    ...clients,
  ]
  return ends.sort((a, b) => (a.leftMs ?? Infinity) - (b.leftMs ?? Infinity) || (a.owner < b.owner ? -1 : 1))
}

/** Says how many certificates expire after those that are listed. */
export const laterText = (count: number): string =>
  `${countOf(count, 'other certificate expires', 'other certificates expire')} later.`

const maxOwners = 3

/** Returns the certificates that expire soon or have expired. Certificates that expire together share a sentence. */
export function certificateConcerns(ends: readonly CertificateEnd[]): Concern[] {
  const ending = ends.flatMap(({ owner, use, leftMs = Infinity }) =>
    leftMs < certificateNoticeMs ? [{ owner, use, when: leftMs < 0 ? undefined : formatSpan(leftMs) }] : [],
  )
  return [...Map.groupBy(ending, ({ use, when }) => `${use} ${when}`).values()].map((list) => {
    const { use, when } = list[0]!
    const others = list.length - maxOwners
    const owners = formatList([
      ...list.slice(0, maxOwners).map(({ owner }) => (use === 'authority' ? owner : `the ${owner}`)),
      ...(others > 0 ? [countOf(others, 'other')] : []),
    ])
    const isOne = list.length === 1
    const subject =
      use === 'authority'
        ? `The certificate of authority ${owners}`
        : `The ${use} ${isOne ? 'certificate' : 'certificates'} of ${owners}`
    return {
      text:
        when === undefined
          ? `${subject} ${isOne ? 'has' : 'have'} expired.`
          : `${subject} ${isOne ? 'expires' : 'expire'} in ${when}.`,
    }
  })
}

/** Returns what is wrong with load queues. */
export const queueConcerns = (metrics: ReadonlyMap<MeasuredRole, Metrics>): Concern[] =>
  (metrics.get('coordinator')?.get('svc_load_queue_oldest_seconds') ?? []).flatMap(({ labels, value }) =>
    value > maxQueueAgeSeconds
      ? [
          {
            text: `A load in tier ${labels.tier} has been pending for ${formatSpan(value * 1000)}.`,
            href: '/tiers',
          },
        ]
      : [],
  )

/** Returns the tiers that are almost full. */
export function tierConcerns(servers: readonly DataServer[]): Concern[] {
  const historicals = servers.filter(({ type }) => type === 'historical')
  return [...Map.groupBy(historicals, ({ tier }) => tier)].flatMap(([tier, list]) => {
    const used = sumOf(list, ({ currSize }) => currSize)
    const max = sumOf(list, ({ maxSize }) => maxSize)
    if (max === 0 || used / max <= fullShare) return []
    return [{ text: `Tier ${tier} is ${Math.floor((100 * used) / max)}% full.`, href: '/tiers' }]
  })
}

/**
 * Returns the duties that failed in their last run, and why. Those that have recovered are left out. One failure counts, because
 * some duties run once a day.
 */
export function dutyConcerns(
  groups: Readonly<Record<string, readonly Pick<DutyGroup, 'failures' | 'lastErrors' | 'period' | 'runs'>[]>>,
): Concern[] {
  return Object.entries(groups).flatMap(([role, list]) =>
    list.flatMap(({ failures, lastErrors, period, runs }) =>
      Object.entries(lastErrors).map(([duty, error]) => {
        const count = `${formatCount(failures[duty] ?? 1)} of ${countOf(runs, 'run')}`
        const text = `Duty ${duty} of the ${role} failed in its last run (${count} so far): ${error.replace(/\.$/, '')}. It runs again within ${formatDuration(period)}.`
        return { text, href: '/runs' }
      }),
    ),
  )
}

/**
 * Returns a sentence about failed tasks, if there are any within a day. `tasks` are the newest ones; if there are
 * `maxTasks`, there may be more within that day.
 */
export function taskConcerns(tasks: readonly TaskStatus[], maxTasks: number): Concern[] {
  const recent = tasks.filter(({ ageMs }) => ageMs < dayMs)
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
