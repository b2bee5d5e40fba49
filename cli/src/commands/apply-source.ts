import { existsSync, statSync } from 'node:fs'
import { invalidInput, notFound } from '@svc/domain/failure'
import type { ClusterClient } from '../client/index.ts'
import type { Plan } from '../declared-state/index.ts'
import { printNotices } from '../output/index.ts'
import type { DeclaredFiles, MadePlan, RemainingSteps } from '../plan/index.ts'
import { compareOptions, connectForPlan, type PartOptions, type PlannedCluster } from './plan-options.ts'
import { type PlanFormat, printPlan } from './plan-output.ts'

/** What `./svc apply` applies: files, a saved plan, or the reversal of an applied plan. */
export interface ApplySource extends PartOptions {
  /** An applied plan to undo, as ID or file. */
  readonly revert?: string
  readonly json?: boolean
}

/** A plan that is ready to be applied. */
export interface OpenedPlan {
  readonly client: ClusterClient
  readonly plan: Plan
  readonly remaining: RemainingSteps
  /** Plans what remains to be done again. Throws forbidden if the plan may no longer be applied. */
  readonly planAgain: () => Promise<RemainingSteps>
  /** The plan that this one undoes. */
  readonly reverts?: Plan
  /** The files that declare the changes. */
  readonly files?: DeclaredFiles
}

/** Plans what remains to be done, and prints it. Throws invalidInput if the options do not match. */
export async function openSource(target: string | undefined, options: ApplySource): Promise<OpenedPlan> {
  const { revert } = options
  if ((target === undefined) === (revert === undefined))
    throw invalidInput('Expected files, a saved plan, or --revert with an applied plan')
  if (target?.endsWith('.json') && !existsSync(target))
    throw notFound(`[${target}] does not exist. To save a plan, run ./svc plan with --out ${target}.`)
  if (target !== undefined && !isSavedPlan(target)) return await planFiles(target, options)
  if (options.target !== undefined || options.create)
    throw invalidInput(
      'Options --target and --create cannot be used with a saved plan: pass them to ./svc plan',
    )
  return target === undefined ? await openReversal(revert!, options) : await openPlan(target, options)
}

const isSavedPlan = (target: string): boolean =>
  target.endsWith('.json') && statSync(target, { throwIfNoEntry: false })?.isFile() === true

async function openPlan(file: string, options: ApplySource): Promise<OpenedPlan> {
  const { readPlan, remainingSteps } = await import('../plan/index.ts')
  const plan = readPlan(file)
  const { client, previewsNow } = await connectForPlan(options)
  const planAgain = () => remainingSteps(client, plan, previewsNow())
  const remaining = await planAgain()
  const changes = remaining.steps.flatMap((step) => step.changes)
  if (!options.json && changes.length > 0)
    await printPlan(client, { ...remaining, plan: { ...plan, changes } }, {})
  return { client, plan, remaining, planAgain }
}

async function planFiles(target: string, options: ApplySource): Promise<OpenedPlan> {
  const { compareFiles, interruptedNotices, makePlan, readDeclaredFiles, startedPlan, unfinishedIn } =
    await import('../plan/index.ts')
  const files = readDeclaredFiles(target)
  const cluster = await connectForPlan(options)
  const { client } = cluster
  const compared = await compareFiles(client, files, compareOptions(options))
  const made = await makePlan(client, compared, cluster.previewsNow(), new Date())
  // The new plan does not contain the rules that an interrupted command has changed.
  const rulesChanged = unfinishedIn(client.routerUrl, process.env) !== undefined
  const format = { ...options, prices: files.declared.prices }
  const source = await opened(cluster, { ...made, rulesChanged }, format)
  if (made.plan.changes.length > 0)
    printNotices(interruptedNotices(source.plan, startedPlan(client.routerUrl, process.env)))
  return { ...source, files }
}

async function openReversal(idOrFile: string, options: ApplySource): Promise<OpenedPlan> {
  const { findAppliedPlan, planReversal, unfinishedIn, unfinishedWork } = await import('../plan/index.ts')
  const reverts = findAppliedPlan(idOrFile, process.env)
  const cluster = await connectForPlan(options)
  const { client } = cluster
  const made = await planReversal(client, reverts, cluster.previewsNow(), new Date())
  const rulesChanged = unfinishedIn(client.routerUrl, process.env) === unfinishedWork(reverts.id)
  return { ...(await opened(cluster, { ...made, rulesChanged }, options)), reverts }
}

async function opened(
  { client, previewsNow }: PlannedCluster,
  made: MadePlan & { readonly rulesChanged: boolean },
  { json, prices }: ApplySource & PlanFormat,
): Promise<Omit<OpenedPlan, 'reverts'>> {
  const { remainingSteps, resumedPlan, startedPlan } = await import('../plan/index.ts')
  const { scope } = made
  const { changes } = made.plan
  const plan = resumedPlan(made.plan, startedPlan(client.routerUrl, process.env), made.live)
  if (!json && changes.length > 0)
    await printPlan(client, { ...made, plan: { ...plan, changes } }, { prices })
  return {
    client,
    plan,
    remaining: { ...made, done: plan.changes.length - changes.length },
    planAgain: () => remainingSteps(client, plan, previewsNow(), scope),
  }
}
