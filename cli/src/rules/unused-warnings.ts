import type { ClusterClient } from '../client/index.ts'
import { rulesBody } from './rules-body.ts'

interface Warning {
  readonly type: string
  readonly message: string
}

/** What to do, by the type of a warning. */
const hints: Readonly<Record<string, string>> = {
  unusedSegmentsStay: 'To include these segments, repeat the command with --mark-used',
  requestedSegmentsStay: 'To mark segments as used, run ./svc mark-used',
}

/**
 * Returns warnings about segments that stay unused although the stored rules of a datasource keep them; none if the cluster
 * is Druid, which does not record why segments are unused, or cannot preview rules now. Never fails, because the rules
 * have been changed already.
 */
export async function unusedWarnings(
  client: Pick<ClusterClient, 'interfaceName' | 'send'>,
  dataSource: string,
  rules: readonly unknown[],
): Promise<string[]> {
  if (client.interfaceName === 'druid') return []
  const body = rulesBody(dataSource, rules)
  const answer = await client.send('POST', '/svc/coordinator/v1/rules/simulate', body).catch(() => undefined)
  const { warnings = [] } = (answer ?? {}) as { readonly warnings?: readonly Warning[] }
  return warnings.flatMap(({ type, message }) => {
    const hint = hints[type]
    return hint === undefined ? [] : [`${message}. ${hint}`]
  })
}
