import { describeError } from '@svc/domain/failure'

/** Returns what an error of a directory says. The messages that the library creates for result codes are often empty. */
export function ldapErrorText(error: unknown): string {
  const { name, code } = error as { readonly name?: string; readonly code?: unknown }
  if (!(error instanceof Error) || typeof code !== 'number') return describeError(error)
  const text = error.message.replace(/ ?Code: 0x[0-9a-f]+$/i, '').trim()
  return `${name}, result code ${code}${text === '' ? '' : `: ${text}`}`
}
