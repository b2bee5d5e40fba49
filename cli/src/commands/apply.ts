import { describeError, Failure, forbidden, invalidInput } from '@svc/domain/failure'
import type { RulesPolicy } from '@svc/domain/rules-policy'
import { escapeControlCharacters } from '@svc/domain/validation'
import type { Command } from 'commander'
import type { ClusterClient } from '../client/index.ts'
import type { Change, Plan } from '../declared-state/index.ts'
import { exitStatus, stopRequest } from '../exit/index.ts'
import {
  type OverridePolicyOption,
  overridePolicyOption,
  parsePositiveInteger,
  withConnection,
} from '../options/index.ts'
import { printJson, printNotices, printProgress } from '../output/index.ts'
import type { RemainingSteps } from '../plan/index.ts'
import type { Condition } from '../waiting/index.ts'
import { type ApplySource, type OpenedPlan, openSource } from './apply-source.ts'
import { withParts } from './plan-options.ts'
import { clusterViolation, policyIn, policyViolationsOf, policyWarnings } from './plan-policy.ts'
import { printWarnings } from './rules-output.ts'

interface ApplyOptions extends ApplySource, OverridePolicyOption, AuditNote {
  readonly yes?: boolean
  readonly wait: boolean
  readonly timeout: string
  readonly policy?: string
}

/** Author and comment for the audit history. */
interface AuditNote {
  readonly author?: string | undefined
  readonly comment?: string | undefined
}

/** Adds `./svc apply`. */
export function addApply(program: Command): void {
  withParts(
    withConnection(
      program
        .command('apply')
        .description('Apply YAML files or a saved plan to a cluster, and wait until the cluster has settled'),
    ),
  )
    .argument('[dir|plan]', 'Folder with YAML files, a single YAML file, or a plan saved by ./svc plan --out')
    .option('--revert <plan>', 'Undo this applied plan (ID or file) instead of applying changes')
    .option('--yes', 'Skip the confirmation')
    .option(
      '--no-wait',
      'Do not wait for servers to load and drop segments, either between phases or at the end',
    )
    .option('--timeout <seconds>', 'How long to wait for each phase, in seconds', '3600')
    .option('--policy <file>', 'YAML file with limits; a plan that exceeds them fails with status 4')
    .addOption(overridePolicyOption())
    .option('--author <name>', 'Author for the audit history (default: that of the saved plan, if any)')
    .option(
      '--comment <text>',
      'Comment for the audit history (default: that of the saved plan, if any); the plan ID is appended',
    )
    .option('--json', 'Print JSON')
    .addHelpText(
      'after',
      `
Shows the plan and asks for confirmation. Changes are applied in phases: roles and users, configuration, rules that only
add replicas, rules that move data, rules that lose data, and finally removed roles and users.

A saved plan is refused with status 4 if the configuration has changed since the plan was made, or if more data would be
lost than the plan shows. After an interruption, run the same command again: it skips changes that were already applied.

--revert restores what a plan changed. Segments that the plan's rules marked as unused are marked as used again.

Examples:
  ./svc apply state
  ./svc apply plan.json --yes --author ci --comment "ticket 4711"
  ./svc apply --revert 3f9c0a64d1b27e58`,
    )
    .action(async (target: string | undefined, options: ApplyOptions) => {
      const timeoutMs = 1000 * parsePositiveInteger('--timeout', options.timeout, 999_999)
      await assertAuditNote(options)
      const policy = await policyIn(options.policy)
      const opened = await openSource(target, options)
      const { client, plan, remaining, reverts } = opened
      if (!options.json) printWarnings(await policyWarnings(policy, client, remaining.preview))
      const checkPolicy = checkOf(policy, options)
      await checkPolicy(remaining, ', so nothing was applied')
      const total = plan.changes.length
      if (remaining.done > 0) printProgress(`${remaining.done} of ${total} changes had already been applied.`)
      const isOpen = remaining.steps.length > 0 || reverts !== undefined
      if (isOpen && !options.yes && !(await mayApply(client, options))) {
        process.stdout.write('Nothing was changed.\n')
        process.exitCode = exitStatus.failed
        return
      }
      const headers = await auditHeadersOf(options, opened)
      const markedUsed = await applyRemaining(opened, { headers, timeoutMs, options, checkPolicy })
      const unrestored = reverts && (await findUnrestored(client, reverts, options))
      printResult(plan, { applied: total - remaining.done, markedUsed, unrestored }, options)
    })
}

/** Throws invalidInput if the audit history has no room for the author or the comment. */
async function assertAuditNote(note: AuditNote): Promise<void> {
  const { planIdLength } = await import('@svc/domain/saved-plan')
  await auditHeadersFor(note, '0'.repeat(planIdLength))
}

/** Returns the headers with the author and the comment: those of the options, or else those of the plan. */
const auditHeadersOf = ({ author, comment }: AuditNote, { plan, reverts }: OpenedPlan) =>
  auditHeadersFor(
    { author: author ?? plan.author, comment: comment ?? plan.comment ?? defaultComment(reverts) },
    plan.id,
  )

async function auditHeadersFor(
  { author, comment }: AuditNote,
  planId: string,
): Promise<Readonly<Record<string, string>>> {
  const [{ auditHeaders }, { commentOf }] = await Promise.all([
    import('../rules/index.ts'),
    import('@svc/domain/saved-plan'),
  ])
  return auditHeaders({ author, comment, commentSuffix: ` ${commentOf(planId)}` })
}

const defaultComment = (reverts: Plan | undefined): string =>
  reverts === undefined ? 'Applied with svc' : `Reverted plan ${reverts.id}`

/** Throws forbidden if the policy of a command forbids what remains to be done. */
type CheckPolicy = (
  remaining: Pick<RemainingSteps, 'steps' | 'preview'>,
  consequence?: string,
) => Promise<void>

const checkOf =
  (
    policy: RulesPolicy | undefined,
    { policy: file, overridePolicy: overridesPolicy = false }: ApplyOptions,
  ): CheckPolicy =>
  async ({ steps, preview }, consequence = '') => {
    // The cluster checks each change by itself, so it would refuse some of them after others were applied.
    const forbiddenHere = overridesPolicy ? undefined : clusterViolation(preview)
    if (forbiddenHere !== undefined)
      throw forbidden(
        `${forbiddenHere}${consequence}. To change the rules anyway, add --override-policy, which requires permission [WRITE] on [CONFIG] [rulesOverride].`,
      )
    const changes = steps.flatMap((step) => step.changes)
    const violations = await policyViolationsOf(policy, changes, preview)
    if (violations.length > 0)
      throw forbidden(`The policy [${file}] forbids this plan${consequence}. ${violations.join('. ')}.`)
  }

interface ApplyContext {
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly options: ApplyOptions
  readonly checkPolicy: CheckPolicy
}

/** Applies what remains of a plan. Returns how many segments were marked as used; undefined if it reverts no other plan. */
async function applyRemaining(
  { client, plan, remaining, planAgain, reverts, files }: OpenedPlan,
  {
    headers,
    timeoutMs,
    checkPolicy,
    options: { wait, overridePolicy: overridesPolicy = false },
  }: ApplyContext,
): Promise<number | undefined> {
  const [
    {
      applySteps,
      noteCompleted,
      noteFinished,
      placeOfPassword,
      readPasswords,
      restoreSegments,
      unfinishedWork,
    },
    { fieldAt },
    { readServerSettings },
  ] = await Promise.all([
    import('../plan/index.ts'),
    import('../declared-state/index.ts'),
    import('../live-state/index.ts'),
  ])
  const { signal } = stopRequest()
  const { steps, rulesChanged } = remaining
  const changesLogins = steps.some(({ changes }) => changes.some(({ kind }) => kind === 'logins'))
  const minPasswordLength = changesLogins ? (await readServerSettings(client)).minPasswordLength : 1
  const placeOf = (change: Change) => (files === undefined ? '' : placeOfPassword(files, change))
  const passwordOf = readPasswords(steps, process.env, minPasswordLength, placeOf)
  const context = { client, headers, passwordOf, overridesPolicy }
  const changesRules = rulesChanged || (reverts ?? plan).changes.some(({ kind }) => kind === 'rules')
  let applied = 0
  const total = steps.reduce((sum, { changes }) => sum + changes.length, 0)
  try {
    if (total > 0)
      await savePlan(plan, client, wait && changesRules ? unfinishedWork(reverts?.id) : undefined)
    await applySteps(context, remaining, {
      signal,
      untilLoaded: async () => {
        if (!wait) return undefined
        await waitForServers(client, timeoutMs, signal)
        // Data, rules, and the policy may have changed in the meantime.
        const again = await planAgain()
        await checkPolicy(again)
        return again.steps
      },
      onOverwritten: ({ path }, value) =>
        printProgress(
          `svc: Warning: [${fieldAt(path)}] was changed by someone else at the same time, and this plan overwrote that change. The overwritten value is: ${JSON.stringify(value) ?? 'none'}`,
        ),
      onApplied: ({ path }) => {
        applied += 1
        printProgress(`[${applied}/${total}] ${escapeControlCharacters(fieldAt(path))}`)
      },
    })
    const markedUsed = reverts && (await restoreSegments(client, reverts, headers))
    if (wait && changesRules) {
      await waitForServers(client, timeoutMs, signal)
      noteFinished(client.routerUrl, process.env)
    }
    noteCompleted(client.routerUrl, plan.id, process.env)
    return markedUsed
  } catch (error) {
    if (applied > 0) printProgress(`svc: Applied ${applied} of ${total} changes.${hintAfter(error)}`)
    throw error
  }
}

/** What to do after an error. A plan that was refused is refused again. */
const hintAfter = (error: unknown): string =>
  error instanceof Failure && error.code === 'forbidden' ? '' : ' To continue, run the same command again.'

/** Saves a plan, so that it can be reverted by its ID, and notes the work that starts, so that it can be resumed. */
async function savePlan(plan: Plan, { routerUrl }: ClusterClient, work: string | undefined): Promise<void> {
  const { noteStarted, noteUnfinished, recordPlan } = await import('../plan/index.ts')
  try {
    recordPlan(plan, process.env)
    noteStarted(routerUrl, plan.id, process.env)
    if (work !== undefined) noteUnfinished(routerUrl, work, process.env)
  } catch (error) {
    printProgress(
      `svc: Warning: Failed to save the plan on this machine, so ./svc apply --revert cannot find the plan by its ID: ${describeError(error)}`,
    )
  }
}

/** Waits until an svc cluster has settled, or until servers of Druid have loaded all replicas. Prints what is missing. */
async function waitForServers(client: ClusterClient, timeoutMs: number, signal: AbortSignal): Promise<void> {
  const waiting = await import('../waiting/index.ts')
  const conditions =
    client.interfaceName === 'svc'
      ? [waiting.clusterIsSettled(client, printNotices)]
      : [waiting.rulesAreEvaluated(client), waiting.segmentsAreLoaded(client, { allReplicas: true })]
  for (const condition of conditions)
    await waiting.waitUntil(printsWhatIsMissing(condition), { timeoutMs, signal })
}

function printsWhatIsMissing(condition: Condition): Condition {
  let shown = ''
  return async () => {
    const lacking = await condition()
    const text = lacking.join('; ')
    if (text !== '' && text !== shown) printProgress(`Waiting: ${text}`)
    shown = text
    return lacking
  }
}

// Coordinators of Druid read the metadata store every minute by default.
const maxListingMs = 120_000
const listingPollMs = 5_000

/** Returns which segments a reverted plan has left unused, in sentences. */
async function findUnrestored(
  client: ClusterClient,
  reverts: Plan,
  { wait }: ApplyOptions,
): Promise<readonly string[]> {
  const [{ restoredAreListed, unrestoredSegments }, { waitUntil }] = await Promise.all([
    import('../plan/index.ts'),
    import('../waiting/index.ts'),
  ])
  try {
    if (wait && client.interfaceName === 'druid') {
      const condition = printsWhatIsMissing(restoredAreListed(client, reverts))
      const options = { timeoutMs: maxListingMs, signal: stopRequest().signal, maxPollMs: listingPollMs }
      await waitUntil(condition, options).catch((error: unknown) => {
        if (!(error instanceof Failure) || error.code !== 'timedOut') throw error
      })
    }
    return await unrestoredSegments(client, reverts)
  } catch (error) {
    return [`Failed to check whether all segments are marked as used again: ${describeError(error)}`]
  }
}

interface ApplyResult {
  readonly applied: number
  readonly markedUsed?: number | undefined
  /** What a reverted plan has left unused. */
  readonly unrestored?: readonly string[] | undefined
}

function printResult(
  { id, changes }: Plan,
  { applied, markedUsed, unrestored = [] }: ApplyResult,
  { json }: ApplyOptions,
): void {
  printWarnings(unrestored)
  if (json) {
    printJson({ id, changes: changes.length, applied, ...(markedUsed === undefined ? {} : { markedUsed }) })
    return
  }
  process.stdout.write(
    changes.length === 0
      ? 'The cluster already has this configuration.\n'
      : `Applied plan [${id}]: ${applied} of ${changes.length} changes.\n`,
  )
  if (markedUsed !== undefined)
    process.stdout.write(`Marked ${markedUsed} ${markedUsed === 1 ? 'segment' : 'segments'} as used.\n`)
}

async function mayApply({ routerUrl }: ClusterClient, { json }: ApplyOptions): Promise<boolean> {
  if (json) throw invalidInput('Option --json requires --yes, because it does not ask for confirmation')
  if (!process.stdin.isTTY) throw invalidInput('Cannot ask for confirmation without a terminal: add --yes')
  const { isConfirmed } = await import('../terminal/index.ts')
  return await isConfirmed(`Apply these changes to [${routerUrl}]?`)
}
