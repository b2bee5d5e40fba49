import { describeError, unavailable } from '@svc/domain/failure'

/** The complete answer of a broker. */
export interface BrokerAnswer {
  readonly statusCode: number
  readonly headers: Record<string, string | string[] | undefined>
  readonly body: Buffer
}

/**
 * Cancels a query on whichever broker runs it: sends the request to all brokers and returns the most informative
 * answer. If no broker knows the query but one is unreachable, the query may still exist, so throws unavailable.
 */
export async function cancelEverywhere(
  origins: readonly string[],
  send: (origin: string) => Promise<BrokerAnswer>,
): Promise<BrokerAnswer> {
  if (origins.length === 0) throw unavailable('No broker is running')
  const answers = origins.map(send)
  const canceled = answers.map(async (one) => {
    const answer = await one
    if (answer.statusCode !== 202) throw new Error('The query is not running on this broker')
    return answer
  })
  return await Promise.any(canceled).catch(async () =>
    answerToShow(origins, await Promise.allSettled(answers)),
  )
}

/** Returns the answer to show if no broker has canceled the query. */
function answerToShow(
  origins: readonly string[],
  results: readonly PromiseSettledResult<BrokerAnswer>[],
): BrokerAnswer {
  const answers = results.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
  const decisive = answers.find(({ statusCode }) => statusCode !== 404)
  if (decisive) return decisive
  const failed = results.findIndex(({ status }) => status === 'rejected')
  if (failed < 0) return answers[0] as BrokerAnswer
  const { reason } = results[failed] as PromiseRejectedResult
  throw unavailable(`The broker at [${origins[failed]}] cannot be reached: ${describeError(reason)}`, {
    server: origins[failed] as string,
  })
}
