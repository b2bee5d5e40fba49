import type { Command } from 'commander'
import { exitStatus } from '../exit/index.ts'
import { type FailOnOption, failOnOption, withConnection } from '../options/index.ts'
import { printMessage, printProgress, writeFileOf } from '../output/index.ts'
import { compareOptions, connectForPlan, type PartOptions, withParts } from './plan-options.ts'
import { printPlan } from './plan-output.ts'
import {
  clusterViolation,
  policyIn,
  policyNotice,
  policyViolationsOf,
  policyWarnings,
} from './plan-policy.ts'
import { checkPreviewFormat, type PreviewFormat } from './rules-output.ts'

interface PlanOptions extends PartOptions, PreviewFormat, FailOnOption {
  readonly out?: string
  readonly horizon?: string
  readonly policy?: string
}

/** Adds `./svc plan`. */
export function addPlan(program: Command): void {
  withParts(
    withConnection(
      program
        .command('plan')
        .description(
          'Show what YAML files would change in a cluster (exit status 5 if they change anything)',
        ),
    ),
  )
    .argument('<dir>', 'Folder with YAML files, or a single YAML file')
    .option('--out <file>', 'Save the plan for ./svc apply')
    .option('--horizon <period>', 'How far to look ahead, for example P90D (max P10Y)')
    .option('--policy <file>', 'YAML file with limits; a plan that exceeds them fails with status 4')
    .addOption(failOnOption('plan'))
    .option('--html <file>', 'Also write the plan as a self-contained HTML page')
    .option('--markdown', 'Print Markdown, for a pull request or change ticket')
    .option('--json', 'Print JSON')
    .addHelpText(
      'after',
      `
Shows the changes to the configuration and what changed rules do to the data: what is loaded, moved, dropped, and lost.
It changes nothing. A section in the files is treated as complete: the plan removes anything else that the cluster has in
that section. Sections that are not in the files are left alone.

With prices in the files (prices.perGibMonth), the plan shows costs before and after. --horizon shows what happens later.
--policy limits what is lost when the plan is applied; --fail-on also covers what is lost within the horizon.

Exit status: 0 without changes, 5 with changes, 4 if a policy forbids the changes or if they have an effect listed in --fail-on.

Examples:
  ./svc plan state
  ./svc plan state --out plan.json --markdown > plan.md
  ./svc plan state --target rules.flights`,
    )
    .action(async (dir: string, options: PlanOptions) => {
      checkPreviewFormat(options)
      const [{ compareFiles, makePlan, readDeclaredFiles }, { failureReason, parseFailOn }] =
        await Promise.all([import('../plan/index.ts'), import('../preview/index.ts')])
      const failOn = options.failOn === undefined ? [] : parseFailOn(options.failOn)
      const { horizon, policy: policyFile } = options
      const policy = await policyIn(policyFile)
      const files = readDeclaredFiles(dir)
      const { client, previewsNow } = await connectForPlan(options)
      const compared = await compareFiles(client, files, compareOptions(options))
      const scope = horizon === undefined ? {} : { horizon }
      const made = await makePlan(client, compared, previewsNow(), new Date(), scope)
      if (made.plan.changes.length > 0) process.exitCode = exitStatus.differs
      const warnings = [...made.warnings, ...(await policyWarnings(policy, client, made.preview))]
      await printPlan(client, { ...made, warnings }, { ...options, prices: files.declared.prices })
      const violations = await policyViolationsOf(policy, made.plan.changes, made.preview)
      if (violations.length > 0) {
        process.exitCode = exitStatus.refused
        for (const violation of violations) printProgress(`svc: Policy violation: ${violation}`)
      }
      if (clusterViolation(made.preview) !== undefined) process.exitCode = exitStatus.refused
      const notice = policyNotice(policyFile, made.preview)
      if (notice !== undefined) printMessage(notice)
      const reason = made.preview && failureReason(made.preview, failOn)
      if (reason !== undefined) {
        process.exitCode = exitStatus.refused
        printMessage(reason)
      }
      if (options.out === undefined) return
      const { planText } = await import('@svc/domain/saved-plan')
      writeFileOf('--out', options.out, planText(made.plan))
      printProgress(`Saved plan [${made.plan.id}] to [${options.out}]`)
    })
}
