import { invalidInput } from '@svc/domain/failure'
import { withoutLogin } from './without-login.ts'

/** The URL of a cluster without a slash at the end. Throws invalidInput unless it is an http or https URL without a path. */
export function parseClusterUrl(text: string): string {
  const url = text.replace(/\/+$/, '').replace(/^https?/i, (scheme) => scheme.toLowerCase())
  if (url.includes('@')) {
    throw invalidInput(
      `URL [${withoutLogin(text)}] contains credentials. Use --user and --password-file instead.`,
    )
  }
  if (!/^https?:\/\/[^/?#]+$/.test(url) || !URL.canParse(url)) {
    throw invalidInput(`Invalid URL [${text}]: expected a URL without a path, such as http://127.0.0.1:8888`)
  }
  return url
}
