import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { timedOut } from '@svc/domain/failure'
import type { Interval } from '@svc/domain/time'
import { retry } from '@svc/shared/retry'
import type { ClusterClient } from '../client/index.ts'
import { type Cluster, parseOptions } from '../cluster/index.ts'
import { formatSeconds } from '../terminal/index.ts'
import { viewOf } from './cluster-view.ts'
import type { DemoDisplay } from './display.ts'
import { observe } from './observe.ts'
import { rulesText } from './picture.ts'
import { type DemoStep, demoHistoricals, demoSpec, demoTiers } from './steps.ts'
import { missingFor, targetOf } from './target.ts'

const pollMs = 100
const stepTimeoutMs = 45_000
/** A restarting service is ready within this time. */
const retryTimeoutMs = 15_000
const rulesPath = `/svc/coordinator/v1/rules/${demoSpec.dataSource}`

/** What the steps of a demo share. */
export interface DemoRun {
  readonly cluster: Cluster
  readonly client: ClusterClient
  readonly days: readonly Interval[]
  readonly display: DemoDisplay
  readonly signal: AbortSignal
}

/** Sets the rules of a step and shows progress until they are applied; returns how long that took, in milliseconds. */
export async function showStep(
  { cluster, client, days, display, signal }: DemoRun,
  step: DemoStep,
): Promise<number> {
  const retries = { timeoutMs: retryTimeoutMs, signal }
  display.print(`  POST ${client.routerUrl}${rulesPath}`)
  for (const line of rulesText(step.rules)) display.print(`  ${line}`)
  display.print('')
  const startedAt = performance.now()
  const answers = () => observe(client, demoSpec.dataSource, cluster.home.deepStorage)
  const view = async () => viewOf(await retry(answers, retries), demoSpec.dataSource, days, demoTiers)
  const before = await view()
  await retry(() => client.send('POST', rulesPath, step.rules), retries)
  const { historicals } = parseOptions({ historicals: demoHistoricals })
  const tierSizes = [...historicals].map(([tier, servers]) => ({ tier, servers }))
  const target = targetOf(step.rules, days, tierSizes, Date.now())
  for (;;) {
    const seen = await view()
    const afterMs = performance.now() - startedAt
    const missing = missingFor(target, seen)
    const { files, sizeBytes } = before.deepStorage
    if (seen.deepStorage.files !== files || seen.deepStorage.sizeBytes !== sizeBytes) {
      missing.push(`deep storage has [${seen.deepStorage.files}] files, expected [${files}]`)
    }
    if (missing.length === 0) {
      display.settle(seen, afterMs)
      return afterMs
    }
    // Until something has changed, this would be the state of the step before.
    if (!isDeepStrictEqual(seen, before)) display.show(seen, afterMs)
    if (afterMs >= stepTimeoutMs) {
      throw timedOut(
        `Step timed out after ${formatSeconds(stepTimeoutMs)}: ${step.title}; ${missing.join(', ')}. Use --keep to keep the home with its logs.`,
      )
    }
    await delay(pollMs, undefined, { signal }).catch(() => signal.throwIfAborted())
  }
}
