import { describeError } from '@svc/domain/failure'
import type { ClusterAccess } from '../client/index.ts'
import { rulesBody } from '../rules/index.ts'
import { previewsOfDruid } from './preview-rules.ts'
import { isKnown } from './preview-text.ts'

/**
 * Returns warnings about rules that were set in a Druid cluster, which returns none itself. Never fails, because the rules have been
 * changed already.
 */
export async function warningsOfDruid(
  access: ClusterAccess,
  dataSource: string,
  rules: readonly unknown[],
): Promise<string[]> {
  try {
    const answer = await previewsOfDruid(access, { buckets: 1 })(rulesBody(dataSource, rules))
    return isKnown(answer) ? answer.warnings.map(({ message }) => message) : []
  } catch (error) {
    return [`The rules were set, but svc could not check what they do: ${describeError(error)}`]
  }
}
