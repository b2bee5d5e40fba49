import { Failure } from '@svc/domain/failure'
import type { ClusterClient } from '../client/index.ts'
import type { Condition } from './wait-until.ts'

/** A group of duties, as returned by the coordinator. */
interface AnsweredDutyGroup {
  readonly dutyNames: readonly string[]
  readonly lastRunStart: string | null
  readonly lastRunEnd: string | null
}

// A run that is in progress may still use the earlier rules.
const neededRuns = 2

/**
 * The coordinator has evaluated the rules as they are now. Until then, its load status is about earlier rules. Druid, which
 * does not report whether a cluster has settled, needs this before `segmentsAreLoaded`.
 */
export function rulesAreEvaluated(client: ClusterClient): Condition {
  const starts = new Set<string | null>()
  return async () => {
    const group = await groupOfRules(client)
    if (group === undefined) return []
    const { lastRunStart, lastRunEnd } = group
    starts.add(lastRunStart)
    const isRunning = lastRunStart !== null && (lastRunEnd === null || lastRunEnd < lastRunStart)
    // The first start that is seen is that of an earlier run.
    return starts.size > neededRuns && !isRunning
      ? []
      : ['the coordinator has not evaluated the new rules yet']
  }
}

/** The group that evaluates rules; undefined if the cluster does not report it. */
async function groupOfRules(client: ClusterClient): Promise<AnsweredDutyGroup | undefined> {
  try {
    const answer = await client.send('GET', '/svc/coordinator/v1/duties')
    const { dutyGroups } = answer as { readonly dutyGroups: readonly AnsweredDutyGroup[] }
    return dutyGroups.find(({ dutyNames }) => dutyNames.some((name) => /runrules$/i.test(name)))
  } catch (error) {
    if (error instanceof Failure && (error.code === 'notFound' || error.code === 'forbidden'))
      return undefined
    throw error
  }
}
