import type { Change } from '../declared-state/index.ts'
import type { AnsweredPreview } from '../preview/index.ts'

/** Returns why the policy in a file forbids changes, one sentence each; nothing without a file. */
export async function policyViolationsOf(
  file: string | undefined,
  changes: readonly Change[],
  preview: AnsweredPreview | undefined,
): Promise<readonly string[]> {
  if (file === undefined) return []
  const [{ readPolicyFile }, { violationsOf }] = await Promise.all([
    import('../state-files/index.ts'),
    import('../plan/index.ts'),
  ])
  return violationsOf(readPolicyFile(file), changes, preview)
}

/** Returns a sentence if a preview has losses that the policy in a file does not limit; otherwise undefined. */
export const policyNotice = (
  file: string | undefined,
  preview: Pick<AnsweredPreview, 'summary'> | undefined,
): string | undefined =>
  file === undefined || Object.keys(preview?.summary.laterLosses ?? {}).length === 0
    ? undefined
    : 'The policy limits only what is lost when the plan is applied. To fail on losses within the horizon, too, add --fail-on.'
