import { type RuleJson, rulesPathOf } from '@svc/domain/rules'
import { quotedWord } from '@svc/domain/text'
import { escapeInvisible } from '@svc/domain/validation'
import { visible } from '../formats/index.ts'

// Linux limits an argument of a command to 128 KiB, and a character takes up to four bytes, or four characters if it is quoted.
const maxArgumentCharacters = 30_000

// Where the authority is for a user who works in the folder of a cluster.
const usualAuthorityFile = '.svc/pki/authority.pem'

/** Who stores the rules, and where. */
interface CurlTarget {
  /** The address of the router without a path. */
  readonly origin: string
  /** Undefined if the cluster requires no login. */
  readonly user: string | undefined
  /** The file with the authorities that curl trusts; null if unknown. */
  readonly authorityFile: string | null
}

/**
 * Returns a command that stores rules. curl prompts for the password, so the command can be shared. Characters that would be
 * invisible or would reverse the text are escaped in the rules, and replaced in the author and the comment.
 */
export function curlOf(
  dataSource: string,
  rules: readonly RuleJson[],
  { author, comment }: { readonly author: string; readonly comment: string },
  { origin, user, authorityFile }: CurlTarget,
): string {
  const headers = [
    'Content-Type: application/json',
    ...(author === '' ? [] : [`X-Svc-Author: ${visible(author)}`]),
    ...(comment === '' ? [] : [`X-Svc-Comment: ${visible(comment)}`]),
  ]
  const options = [
    ...(origin.startsWith('https:') ? [`--cacert ${quotedWord(authorityFile ?? usualAuthorityFile)}`] : []),
    ...(user === undefined ? [] : [`-u ${quotedWord(user)}`]),
  ]
  const body = escapeInvisible(JSON.stringify(rules))
  const isLong = body.length > maxArgumentCharacters
  const command = [
    ['curl -sS', ...options].join(' '),
    ...headers.map((header) => `-H ${quotedWord(header)}`),
    `--data ${isLong ? '@-' : quotedWord(body)}`,
    quotedWord(`${origin}${rulesPathOf(dataSource)}`),
  ].join(' \\\n  ')
  // The body is one line that starts with a bracket, so it cannot be the last line of the here-document.
  return isLong ? `${command} <<'RULES'\n${body}\nRULES\n` : command
}
