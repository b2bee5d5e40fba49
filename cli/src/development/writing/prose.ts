/** Marks a value in a string. */
export const placeholder = `\${…}`

const sqlStart =
  /^\s*\(?(SELECT|INSERT|UPDATE|DELETE|WITH|CREATE|COPY|ALTER|DROP|SET|FROM|WHERE|AND|OR|ORDER BY|GROUP BY|CASE|CAST|PRAGMA|VALUES|LEFT JOIN|JOIN|PARTITION BY|TRY_CAST|FORMAT)\b/
const sqlInside =
  /\b(SELECT [\s\S]* FROM|CASE WHEN|CAST\(|ORDER BY|GROUP BY|AS BIGINT|ON CONFLICT|IS NULL|AS [a-z]\$)|::[A-Z]|\bepoch_ms\(|\b__time [<>=]|\b\w+ = (true|false)\b|^\w+\(|^\(.*\) AS [a-z]+$/
const protocol =
  /; charset=|^HTTP\/1\.1|^-----|^Basic |^Bearer |^https?:\/\/\S*$|^Connection: |^Host: |^[a-z]+-(src|uri|action|ancestors) '|^public, max-age=|^[\w-]+ (yes|no|noeviction)$/
const code = /^\s*(import|export|const) .*[='"]|\bredis\.call\(|; kill -/
const style = /^:root |^\.[\w-]+( \w+)*, \.|^\s*[\w, ]+ \{ [\w-]+: /
const placeholders = /\$\{…\}|\{\{.*?\}\}|&[a-z]+;/g
const word = /^[("'‘“[]*[A-Za-z][A-Za-z'’-]*(\[|[)"'’”\].,;:!?…]*$)/

/** Whether a string is written for people: it contains at least two words, and is not SQL, a header, CSS, or code. */
export function isProse(text: string): boolean {
  const trimmed = text.trim()
  if (sqlStart.test(text) || sqlInside.test(trimmed)) return false
  if (protocol.test(trimmed) || code.test(text) || style.test(trimmed)) return false
  if (/^[\w.-]+ ([<>]?=|[<>]) /.test(trimmed)) return false
  const tokens = trimmed.replace(placeholders, '#').split(/\s+/)
  const words = tokens.filter((token) => word.test(token))
  return words.length >= 2 && words.some((each) => /^["'([]*[a-z]{2}/.test(each))
}

/** Whether a string contains a word, not just values, punctuation and units. */
export function hasWord(text: string): boolean {
  return /[A-Za-z]{2}/.test(text.replace(placeholders, ''))
}
