import { readFileSync, statSync } from 'node:fs'
import { invalidInput } from '@svc/domain/failure'
import type { Command } from 'commander'
import type { ClusterClient } from '../client/index.ts'
import type { Plan } from '../declared-state/index.ts'
import { exitStatus, stopRequest } from '../exit/index.ts'
import { parsePositiveInteger, withConnection } from '../options/index.ts'
import { printJson, printNotices, printProgress } from '../output/index.ts'
import type { RemainingSteps } from '../plan/index.ts'
import { connectForPlan, type PartOptions, type PlannedCluster, withParts } from './plan-options.ts'
import { printPlan } from './plan-output.ts'

interface ApplyOptions extends PartOptions {
  readonly yes?: boolean
  readonly wait: boolean
  readonly timeout: string
  readonly author?: string
  readonly comment?: string
  readonly json?: boolean
}

/** Adds `./svc apply`. */
export function addApply(program: Command): void {
  withParts(
    withConnection(
      program
        .command('apply')
        .description('Apply YAML files, or a saved plan, to a cluster, and wait until it has settled'),
    ),
  )
    .argument('<dir|plan>', 'Folder with YAML files, one of them, or a plan that ./svc plan --out saved')
    .option('--yes', 'Skip the confirmation')
    .option(
      '--no-wait',
      'Do not wait for servers to load and drop segments, neither between phases nor at the end',
    )
    .option('--timeout <seconds>', 'How long to wait for each phase, in seconds', '3600')
    .option('--author <name>', 'Author for the audit history')
    .option('--comment <text>', 'Comment for the audit history; the ID of the plan is added')
    .option('--json', 'Print JSON')
    .addHelpText(
      'after',
      `
Shows the plan and requires a confirmation. Changes are applied in phases: roles and users, configuration, rules that only
add replicas, rules that move data, rules that lose data, and finally removed roles and users.

A saved plan is refused with status 4 if the configuration was changed since it was made, or if more data would be lost
than it shows. After an interruption, run the same command again: what is already applied is skipped.

Examples:
  ./svc apply state
  ./svc apply plan.json --yes --author ci --comment "ticket 4711"`,
    )
    .action(async (target: string, options: ApplyOptions) => {
      const timeoutMs = 1000 * parsePositiveInteger('--timeout', options.timeout, 999_999)
      const { auditHeaders } = await import('../rules/index.ts')
      const { author, comment = 'Applied with svc' } = options
      auditHeaders({ author, comment })
      const cluster = await connectForPlan(options)
      const { plan, remaining } = isSavedPlan(target)
        ? await openPlan(cluster, target, options)
        : await planFiles(cluster, target, options)
      const total = plan.changes.length
      if (remaining.done > 0) printProgress(`${remaining.done} of ${total} changes were applied before.`)
      if (remaining.steps.length === 0) {
        printResult(plan, 0, options)
        return
      }
      if (!options.yes && !(await isConfirmed(cluster.client))) {
        process.stdout.write('Nothing was changed.\n')
        process.exitCode = exitStatus.failed
        return
      }
      const headers = auditHeaders({ author, comment: `${comment} (plan ${plan.id})` })
      await applyRemaining(cluster.client, remaining, { headers, timeoutMs, wait: options.wait })
      printResult(plan, total - remaining.done, options)
    })
}

interface OpenedPlan {
  readonly plan: Plan
  readonly remaining: RemainingSteps
}

const isSavedPlan = (target: string): boolean =>
  target.endsWith('.json') && statSync(target, { throwIfNoEntry: false })?.isFile() === true

async function openPlan(
  { client, preview }: PlannedCluster,
  file: string,
  { target, create }: ApplyOptions,
): Promise<OpenedPlan> {
  if (target !== undefined || create)
    throw invalidInput('Options --target and --create are for ./svc plan if a saved plan is applied')
  const [{ parsePlan }, { remainingSteps }, { parseInputJson }] = await Promise.all([
    import('../declared-state/index.ts'),
    import('../plan/index.ts'),
    import('../client/index.ts'),
  ])
  const plan = parsePlan(parseInputJson(readFileSync(file, 'utf8'), 'plan', `file [${file}]`), file)
  const remaining = await remainingSteps(client, plan, preview)
  if (remaining.steps.length > 0) {
    const { blocksOf, diffText, summaryOf } = await import('../plan/index.ts')
    const changes = remaining.steps.flatMap((step) => step.changes)
    printProgress([`Plan ${plan.id}:`, summaryOf(changes), '', ...diffText(blocksOf(changes))].join('\n'))
  }
  return { plan, remaining }
}

async function planFiles(
  { client, preview }: PlannedCluster,
  target: string,
  { target: parts = [], create = false, json }: ApplyOptions,
): Promise<OpenedPlan> {
  const { compareFiles, makePlan } = await import('../plan/index.ts')
  const compared = await compareFiles(client, { target, parts, create })
  const made = await makePlan(client, compared, preview, new Date())
  if (!json && made.plan.changes.length > 0) await printPlan(client, made, {})
  return { plan: made.plan, remaining: { steps: made.steps, done: 0 } }
}

interface ApplyContext {
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly wait: boolean
}

async function applyRemaining(
  client: ClusterClient,
  { steps }: RemainingSteps,
  { headers, timeoutMs, wait }: ApplyContext,
): Promise<void> {
  const [{ applySteps, readPasswords }, { fieldAt }] = await Promise.all([
    import('../plan/index.ts'),
    import('../declared-state/index.ts'),
  ])
  const { signal } = stopRequest()
  const context = { client, headers, passwordOf: readPasswords(steps, process.env) }
  const untilSettled = async () => {
    if (wait) await waitForServers(client, timeoutMs, signal)
  }
  let applied = 0
  const total = steps.reduce((sum, { changes }) => sum + changes.length, 0)
  try {
    await applySteps(context, steps, {
      signal,
      untilLoaded: untilSettled,
      onApplied: ({ path }) => {
        applied += 1
        printProgress(`[${applied}/${total}] ${fieldAt(path)}`)
      },
    })
    if (steps.some(({ changes }) => changes.some(({ kind }) => kind === 'rules'))) await untilSettled()
  } catch (error) {
    if (applied > 0)
      printProgress(`svc: Applied ${applied} of ${total} changes. To continue, run the same command again.`)
    throw error
  }
}

/** Waits until an svc cluster has settled, or until servers of Druid have loaded all replicas. Prints what is missing. */
async function waitForServers(client: ClusterClient, timeoutMs: number, signal: AbortSignal): Promise<void> {
  const { clusterIsSettled, segmentsAreLoaded, waitUntil } = await import('../waiting/index.ts')
  const condition =
    client.interfaceName === 'svc'
      ? clusterIsSettled(client, printNotices)
      : segmentsAreLoaded(client, { allReplicas: true })
  let shown = ''
  const shownCondition = async () => {
    const lacking = await condition()
    const text = lacking.join('; ')
    if (text !== '' && text !== shown) printProgress(`Waiting: ${text}`)
    shown = text
    return lacking
  }
  await waitUntil(shownCondition, { timeoutMs, signal })
}

function printResult({ id, changes }: Plan, applied: number, { json }: ApplyOptions): void {
  if (json) printJson({ id, changes: changes.length, applied })
  else if (changes.length === 0) process.stdout.write('The cluster already has this configuration.\n')
  else process.stdout.write(`Applied plan [${id}]: ${applied} of ${changes.length} changes.\n`)
}

async function isConfirmed({ routerUrl }: ClusterClient): Promise<boolean> {
  if (!process.stdin.isTTY) throw invalidInput('Without a terminal, ./svc apply requires --yes')
  const { createInterface } = await import('node:readline/promises')
  const prompt = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await prompt.question(`Apply these changes to [${routerUrl}]? (yes/no) `)
  prompt.close()
  return /^y(es)?$/i.test(answer.trim())
}
