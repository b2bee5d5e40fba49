import { readFileSync, statSync } from 'node:fs'
import { invalidInput } from '@svc/domain/failure'
import type { Command } from 'commander'
import type { ClusterClient } from '../client/index.ts'
import type { Plan } from '../declared-state/index.ts'
import { exitStatus, stopRequest } from '../exit/index.ts'
import { parsePositiveInteger, withConnection } from '../options/index.ts'
import { printJson, printNotices, printProgress } from '../output/index.ts'
import type { RemainingSteps } from '../plan/index.ts'
import { compareOptions, connectForPlan, type PartOptions, withParts } from './plan-options.ts'
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
      const { client, plan, remaining } = isSavedPlan(target)
        ? await openPlan(target, options)
        : await planFiles(target, options)
      const total = plan.changes.length
      if (remaining.done > 0) printProgress(`${remaining.done} of ${total} changes had already been applied.`)
      if (remaining.steps.length === 0) {
        printResult(plan, 0, options)
        return
      }
      if (!options.yes && !(await isConfirmed(client))) {
        process.stdout.write('Nothing was changed.\n')
        process.exitCode = exitStatus.failed
        return
      }
      const headers = auditHeaders({ author, comment: `${comment} (plan ${plan.id})` })
      await applyRemaining(client, remaining, { headers, timeoutMs, wait: options.wait })
      printResult(plan, total - remaining.done, options)
    })
}

interface OpenedPlan {
  readonly client: ClusterClient
  readonly plan: Plan
  readonly remaining: RemainingSteps
}

const isSavedPlan = (target: string): boolean =>
  target.endsWith('.json') && statSync(target, { throwIfNoEntry: false })?.isFile() === true

async function openPlan(file: string, options: ApplyOptions): Promise<OpenedPlan> {
  const { target, create } = options
  if (target !== undefined || create)
    throw invalidInput(
      'Options --target and --create cannot be used with a saved plan: pass them to ./svc plan',
    )
  const [{ parsePlan }, { remainingSteps }, { parseInputJson }] = await Promise.all([
    import('../declared-state/index.ts'),
    import('../plan/index.ts'),
    import('../client/index.ts'),
  ])
  const plan = parsePlan(parseInputJson(readFileSync(file, 'utf8'), 'plan', `file [${file}]`), file)
  const { client, preview } = await connectForPlan(options)
  const remaining = await remainingSteps(client, plan, preview)
  if (remaining.steps.length > 0) {
    const { blocksOf, diffText, summaryOf } = await import('../plan/index.ts')
    const changes = remaining.steps.flatMap((step) => step.changes)
    printProgress([`Plan ${plan.id}:`, summaryOf(changes), '', ...diffText(blocksOf(changes))].join('\n'))
  }
  return { client, plan, remaining }
}

async function planFiles(target: string, options: ApplyOptions): Promise<OpenedPlan> {
  const { compareFiles, makePlan, readDeclaredFiles } = await import('../plan/index.ts')
  const files = readDeclaredFiles(target)
  const { client, preview } = await connectForPlan(options)
  const compared = await compareFiles(client, files, compareOptions(options))
  const made = await makePlan(client, compared, preview, new Date())
  if (!options.json && made.plan.changes.length > 0) await printPlan(client, made, {})
  return { client, plan: made.plan, remaining: { steps: made.steps, done: 0 } }
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
      onOverwritten: ({ path }) =>
        printProgress(
          `svc: Warning: [${fieldAt(path)}] was changed by someone else at the same time, and this change was overwritten. Its history shows it.`,
        ),
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
  const waiting = await import('../waiting/index.ts')
  const conditions =
    client.interfaceName === 'svc'
      ? [waiting.clusterIsSettled(client, printNotices)]
      : [waiting.rulesAreEvaluated(client), waiting.segmentsAreLoaded(client, { allReplicas: true })]
  for (const condition of conditions) {
    let shown = ''
    const shownCondition = async () => {
      const lacking = await condition()
      const text = lacking.join('; ')
      if (text !== '' && text !== shown) printProgress(`Waiting: ${text}`)
      shown = text
      return lacking
    }
    await waiting.waitUntil(shownCondition, { timeoutMs, signal })
  }
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
