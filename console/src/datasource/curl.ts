import { type RuleJson, rulesPathOf } from '@svc/domain/rules'
import { currentSession } from '../session/index.ts'

// Linux limits an argument of a command to 128 KiB, and a character takes up to four bytes, or four characters if it is quoted.
const maxArgumentCharacters = 30_000

// Where the authority is for a user who works in the folder of a cluster.
const usualAuthorityFile = '.svc/pki/authority.pem'

/** Returns a command that stores rules. curl prompts for the password, so the command can be shared. */
export function curlOf(
  dataSource: string,
  rules: readonly RuleJson[],
  {
    author,
    comment,
    authorityFile,
  }: { readonly author: string; readonly comment: string; readonly authorityFile: string | null },
): string {
  const headers = [
    'Content-Type: application/json',
    ...(author === '' ? [] : [`X-Svc-Author: ${author}`]),
    ...(comment === '' ? [] : [`X-Svc-Comment: ${comment}`]),
  ]
  const { authorization, user } = currentSession()
  const options = [
    ...(location.protocol === 'https:' ? [`--cacert ${quoted(authorityFile ?? usualAuthorityFile)}`] : []),
    ...(authorization === undefined ? [] : [`-u ${quoted(user)}`]),
  ]
  const body = JSON.stringify(rules)
  const isLong = body.length > maxArgumentCharacters
  const command = [
    ['curl -sS', ...options].join(' '),
    ...headers.map((header) => `-H ${quoted(header)}`),
    `--data ${isLong ? '@-' : quoted(body)}`,
    quoted(`${location.origin}${rulesPathOf(dataSource)}`),
  ].join(' \\\n  ')
  // The body is one line that starts with a bracket, so it cannot be the last line of the here-document.
  return isLong ? `${command} <<'RULES'\n${body}\nRULES\n` : command
}

/** Quotes a word for a POSIX shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
