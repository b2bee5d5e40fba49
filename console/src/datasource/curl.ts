import { type RuleJson, rulesPath } from '../cluster/index.ts'

/** Returns a command that stores rules. curl prompts for the password, so the command can be shared. */
export function curlOf(
  dataSource: string,
  rules: readonly RuleJson[],
  { author, comment }: { readonly author: string; readonly comment: string },
): string {
  const headers = [
    'Content-Type: application/json',
    ...(author === '' ? [] : [`X-Svc-Author: ${author}`]),
    ...(comment === '' ? [] : [`X-Svc-Comment: ${comment}`]),
  ]
  return [
    'curl -sS --cacert .svc/pki/authority.pem -u admin',
    ...headers.map((header) => `-H ${quoted(header)}`),
    `--data ${quoted(JSON.stringify(rules))}`,
    quoted(`${location.origin}${rulesPath(dataSource)}`),
  ].join(' \\\n  ')
}

/** Quotes a word for a POSIX shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
