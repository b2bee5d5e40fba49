import { Failure, invalidInput } from '@svc/domain/failure'
import { rulesPathOf } from '@svc/domain/rules'
import { formatCount } from '@svc/domain/text'
import { hasControlCharacter, maxAuditTextLength, refuse } from '@svc/domain/validation'
import type { ClusterClient } from '../client/index.ts'
import { warningsOfHeader } from './warnings-text.ts'

/** Author and comment for the audit history. */
export interface RulesAudit {
  readonly author?: string | undefined
  readonly comment?: string | undefined
  /** What follows the comment. */
  readonly commentSuffix?: string
}

/** The path of the rules of a datasource. Throws a Failure for a name that a path cannot contain. */
export function rulesPath(dataSource: string): string {
  if (['', '.', '..'].includes(dataSource.trim()))
    throw invalidInput(`Invalid value [${dataSource}] for [--datasource]: expected the name of a datasource`)
  return rulesPathOf(dataSource)
}

/** The headers for author and comment. Throws a Failure if a header cannot contain a value, or if a value is too long. */
export function auditHeaders({ author, comment, commentSuffix = '' }: RulesAudit): Record<string, string> {
  return {
    ...headerOf('--author', 'X-Svc-Author', author),
    ...headerOf('--comment', 'X-Svc-Comment', comment, commentSuffix),
  }
}

function headerOf(
  option: string,
  name: string,
  value: string | undefined,
  suffix = '',
): Record<string, string> {
  if (value === undefined) return {}
  // With a longer value, servers would cut the suffix.
  const maxLength = maxAuditTextLength - suffix.length
  if (value.length > maxLength)
    throw refuse(
      option,
      value,
      `at most ${formatCount(maxLength)} characters, not ${formatCount(value.length)}`,
    )
  if (hasControlCharacter(value))
    throw refuse(option, value, 'text without control characters, because it is sent in an HTTP header')
  return { [name]: `${value}${suffix}` }
}

/** How rules are replaced. */
export interface SetRulesOptions {
  /** Author and comment for the audit history. */
  readonly headers: Readonly<Record<string, string>>
  /** Whether a cluster of svc must change the rules even if its policy forbids it. */
  readonly overridesPolicy: boolean | undefined
}

/**
 * Replaces the rules of a datasource. Returns the warnings of the cluster. Throws a
 * Failure if the rules are rejected.
 */
export async function setRules(
  client: ClusterClient,
  dataSource: string,
  rules: readonly unknown[],
  options: SetRulesOptions,
): Promise<readonly string[]> {
  const answer = await postRules(client, rulesPath(dataSource), rules, options)
  return warningsOfHeader(answer.headers['x-svc-warnings'] as string | undefined)
}

/** Sends a list of rules to its path. Throws a Failure that names the option of the command, not the query parameter. */
export async function postRules(
  client: ClusterClient,
  path: string,
  rules: unknown,
  { headers, overridesPolicy }: SetRulesOptions,
): ReturnType<ClusterClient['request']> {
  try {
    return await client.request('POST', overridesPolicy ? `${path}?overridePolicy` : path, rules, headers)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const message = error.message.replace('the parameter [overridePolicy]', '--override-policy')
    throw new Failure(error.code, message, error.context, error)
  }
}
