import { type Fault, instances, type Login } from '../schedule.ts'
import { faultsOf } from './leaders.ts'
import { mayHaveHappened, ofKind, ofType, type Story } from './story.ts'

const isSuccess = (status: number | null): boolean => status !== null && status < 400

/** What may never be answered to each kind of caller. */
const wrongAnswers: Readonly<Record<Login, (status: number | null) => boolean>> = {
  admin: (status) => status === 401 || status === 403,
  reader: (status) => status === 401 || status === 403,
  readerElsewhere: (status) => isSuccess(status) || status === 401,
  readerWrites: (status) => isSuccess(status) || status === 401,
  stranger: (status) => isSuccess(status) || status === 401,
  wrongPassword: (status) => status !== null && status < 500 && status !== 401 && status !== 429,
}

/** A revocation is not waited for at a server that is away, and it may be so long until one is back that was. */
const awayAfterFaultMs = 10_000
/** A revocation is acknowledged at the latest after so long, also where servers have not told that they know of it. */
const longestWaitMs = 6000

/** What has to work for a server to hear of a change of rights. */
function concerns(fault: Fault, instance: string): boolean {
  const needed: readonly string[] = [instance, ...instances.coordinator, 'postgres', 'redis']
  return needed.includes(fault.target) || ('to' in fault && needed.includes(fault.to))
}

/** Nobody is let in after a revocation that was acknowledged, and before a grant. */
function afterRevocation(story: Story): string[] {
  const faults = faultsOf(story.entries)
  const writes = ofKind(story, 'setRight').filter(mayHaveHappened)
  const grants = writes.filter(({ work }) => work.granted)
  const revocations = writes.filter(({ work, outcome }) => !work.granted && outcome === 'done')
  return ofType(story.entries, 'letIn').flatMap(({ instance, isLetIn, from, until }) => {
    if (!isLetIn) return []
    const revoked = revocations.filter(({ answeredAt }) => answeredAt <= from)
    // One of unknown end may be carried out at any time.
    const mayBeGranted = grants.some(
      (grant) => grant.at < until && !revoked.some((revocation) => revocation.at >= grant.answeredAt),
    )
    const last = revoked.at(-1)
    const mayNotKnow =
      last !== undefined &&
      (last.answeredAt - last.at >= longestWaitMs ||
        faults.some(
          (span) =>
            concerns(span.fault, instance) && span.from < until && span.until + awayAfterFaultMs > last.at,
        ))
    if (mayBeGranted || mayNotKnow) return []
    return [`[${instance}] let in a user after ${Math.round(from)} ms who had no right to it`]
  })
}

/** Everybody is let in as far as their rights go, and no further. */
export function rightsHold(story: Story): string[] {
  const wrong = ofKind(story, 'login').flatMap(({ work, status, step }) =>
    wrongAnswers[work.login](status)
      ? [`[${work.login}] was answered ${status} by [${step.to}] ([${step.id}])`]
      : [],
  )
  return [...wrong, ...afterRevocation(story)]
}
