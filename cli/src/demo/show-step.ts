import { setTimeout as delay } from 'node:timers/promises'
import { unavailable } from '@svc/domain/failure'
import type { ClusterClient } from '../client/index.ts'
import { type Cluster, parseOptions } from '../cluster/index.ts'
import { askPatiently } from '../ingest/index.ts'
import { formatSeconds } from '../terminal/index.ts'
import { viewOf } from './cluster-view.ts'
import type { DemoDisplay } from './display.ts'
import { observe } from './observe.ts'
import { rulesText } from './picture.ts'
import { type DemoStep, demoDays, demoHistoricals, demoSpec, demoTiers } from './steps.ts'
import { missingFor, targetOf } from './target.ts'

const POLL_MS = 250
const STEP_PATIENCE_MS = 45_000
/** A service that is being started again answers within this. */
const ANSWER_PATIENCE_MS = 15_000
const RULES_PATH = `/svc/coordinator/v1/rules/${demoSpec.dataSource}`

/** Sets the rules of a step and shows what they do until it is done; returns how long that took in milliseconds. */
export async function showStep(
  cluster: Cluster,
  client: ClusterClient,
  step: DemoStep,
  display: DemoDisplay,
  signal: AbortSignal,
): Promise<number> {
  const patience = { patienceMs: ANSWER_PATIENCE_MS, signal }
  const days = demoDays()
  display.print(`  POST ${client.routerUrl}${RULES_PATH}`)
  for (const line of rulesText(step.rules)) display.print(`  ${line}`)
  display.print('')
  const startedAt = performance.now()
  const answers = () => observe(client, demoSpec.dataSource, cluster.home.deepStorage)
  const view = async () => viewOf(await askPatiently(answers, patience), demoSpec.dataSource, days, demoTiers)
  const stored = (await view()).deepStorage
  await askPatiently(() => client.send('POST', RULES_PATH, step.rules), patience)
  const { historicals } = parseOptions({ historicals: demoHistoricals })
  const tierSizes = [...historicals].map(([tier, servers]) => ({ tier, servers }))
  const target = targetOf(step.rules, days, tierSizes, Date.now())
  for (;;) {
    const seen = await view()
    const afterMs = performance.now() - startedAt
    const missing = missingFor(target, seen)
    if (seen.deepStorage.files !== stored.files || seen.deepStorage.sizeBytes !== stored.sizeBytes) {
      missing.push(`deep storage has [${seen.deepStorage.files}] files and had [${stored.files}]`)
    }
    if (missing.length === 0) {
      display.settle(seen, afterMs)
      return afterMs
    }
    display.show(seen, afterMs)
    if (afterMs >= STEP_PATIENCE_MS) {
      throw unavailable(
        `Not reached within ${formatSeconds(STEP_PATIENCE_MS)}: ${step.title}; ${missing.join(', ')} (with --keep the home stays, with its logs)`,
      )
    }
    await delay(POLL_MS, undefined, { signal }).catch(() => signal.throwIfAborted())
  }
}
