import { type Fault, instances, type Login } from '../schedule.ts'
import { faultsOf } from './leaders.ts'
import { isPossiblyDone, ofKind, ofType, type Story } from './story.ts'

const isSuccess = (status: number | null): boolean => status !== null && status < 400

/** Statuses that each kind of caller must never get. */
const wrongAnswers: Readonly<Record<Login, (status: number | null) => boolean>> = {
  admin: (status) => status === 401 || status === 403,
  reader: (status) => status === 401 || status === 403,
  readerElsewhere: (status) => isSuccess(status) || status === 401,
  readerWrites: (status) => isSuccess(status) || status === 401,
  stranger: (status) => isSuccess(status) || status === 401,
  wrongPassword: (status) => status !== null && status < 500 && status !== 401 && status !== 429,
}

/**
 * A revocation does not wait for a server that is down. A server that comes back may take this long to learn
 * of it.
 */
const unavailableAfterFaultMs = 10_000
/** A revocation is acknowledged after at most this time, even if servers have not confirmed it. */
const maxWaitMs = 6000

/** What must work for a server to learn of a change to permissions. */
function concerns(fault: Fault, instance: string): boolean {
  const needed: readonly string[] = [instance, ...instances.coordinator, 'postgres', 'redis']
  return needed.includes(fault.target) || ('to' in fault && needed.includes(fault.to))
}

/** No user has access between an acknowledged revocation and the next grant. */
function afterRevocation(story: Story): string[] {
  const faults = faultsOf(story.entries)
  const writes = ofKind(story, 'setRight').filter(isPossiblyDone)
  const grants = writes.filter(({ work }) => work.granted)
  const revocations = writes.filter(({ work, outcome }) => !work.granted && outcome === 'done')
  return ofType(story.entries, 'accepted').flatMap(({ instance, isAccepted, from, until }) => {
    if (!isAccepted) return []
    const revoked = revocations.filter(({ answeredAt }) => answeredAt <= from)
    // A request with an unknown outcome may be executed at any time.
    const mayBeGranted = grants.some(
      (grant) => grant.at < until && !revoked.some((revocation) => revocation.at >= grant.answeredAt),
    )
    const last = revoked.at(-1)
    const mayNotKnow =
      last !== undefined &&
      (last.answeredAt - last.at >= maxWaitMs ||
        faults.some(
          (span) =>
            concerns(span.fault, instance) &&
            span.from < until &&
            span.until + unavailableAfterFaultMs > last.at,
        ))
    if (mayBeGranted || mayNotKnow) return []
    return [`[${instance}] gave a user without the permission access after ${Math.round(from)} ms`]
  })
}

/** All users can do what their permissions allow, and nothing else. */
export function rightsHold(story: Story): string[] {
  const wrong = ofKind(story, 'login').flatMap(({ work, status, step }) =>
    wrongAnswers[work.login](status)
      ? [`[${work.login}] got status ${status} from [${step.to}] ([${step.id}])`]
      : [],
  )
  return [...wrong, ...afterRevocation(story)]
}
