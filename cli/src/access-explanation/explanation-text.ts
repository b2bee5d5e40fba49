import { type AuthenticatorStep, directoryStepText } from '@svc/domain/access'
import { escapeControlCharacters } from '@svc/domain/validation'
import { emphasized, formatTable } from '../terminal/index.ts'
import type { Explanation } from './explain-access.ts'

/** An explanation as text: the decision first, then the reasons. */
export function explanationText(explanation: Explanation): string {
  const { user, method, path, endpoint, authorizer, allowed, because } = explanation
  const sections = [
    `${emphasized(verdictText(allowed))}: ${method} ${path} as ${user}\n${because}.`,
    `Endpoint ${endpoint}, authorizer ${authorizer}.`,
    formatTable(
      ['authenticator', 'result', 'uses this authorizer'],
      explanation.authenticators.map(({ name, knows, usesThisAuthorizer }) => [
        name,
        knows,
        usesThisAuthorizer ? 'yes' : 'no',
      ]),
    ),
  ]
  if (explanation.directory && explanation.directory.length > 0)
    sections.push(directoryText('Directory', explanation.directory))
  if (explanation.groups.length > 0)
    sections.push(
      formatTable(
        ['group', 'passes filters'],
        explanation.groups.map(({ group, counts }) => [group, counts ? 'yes' : 'no']),
      ),
    )
  sections.push(
    explanation.roles.length === 0
      ? `The user has no roles${noRolesReason(explanation)}.`
      : formatTable(
          ['role', 'from'],
          explanation.roles.map(({ role, from, exists }) => [
            role,
            `${from.map((source) => (source === 'user' ? 'assigned to the user' : source)).join(', ')}${exists ? '' : ' (does not exist)'}`,
          ]),
        ),
  )
  if (explanation.permissions.length > 0)
    sections.push(
      formatTable(
        ['role', 'permission', 'grants access'],
        explanation.permissions.map(({ role, permission: { action, resource }, grants }) => [
          role,
          `${action} ${resource.type} ${resource.name}`,
          grants === null ? 'for matching names' : grants ? 'yes' : 'no',
        ]),
      ),
    )
  return `${sections.join('\n\n')}\n`
}

/** Returns requests to directories as a numbered list. What directories answer may contain control sequences for the terminal. */
export const directoryText = (title: string, steps: readonly AuthenticatorStep[]): string =>
  `${title}:\n${steps
    .map((step, index) => `${index + 1}. ${escapeControlCharacters(directoryStepText(step))}`)
    .join('\n')}`

/** Why the groups of a user without roles give it none. */
function noRolesReason({ groups }: Explanation): string {
  if (groups.length === 0) return ''
  return groups.some(({ counts }) => counts)
    ? ': none is assigned to the user, and no group mapping matches these groups'
    : ': none is assigned to the user, and the authorizer ignores these groups ([roleProvider.type], [roleProvider.groupFilters])'
}

const verdictText = (allowed: boolean | null): string =>
  allowed === null ? 'Depends on the request' : allowed ? 'Allowed' : 'Denied'
