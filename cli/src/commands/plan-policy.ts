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
