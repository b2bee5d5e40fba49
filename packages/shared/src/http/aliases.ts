import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ErrorBody } from './error-body.ts'

/** Alternative path prefixes of the API next to `svc`: `/word/**` and `/word-ext/**`. */
export interface Aliases {
  /**
   * Rewrites the path and headers of a request that uses an alias, and returns the alias. Returns undefined and changes
   * nothing if it uses none.
   */
  translate(request: IncomingMessage): string | undefined
}

const headers = ['author', 'comment']

/** Creates aliases with these words. Internal endpoints have no aliases. */
export function createAliases(words: readonly string[]): Aliases {
  if (words.length === 0) return { translate: () => undefined }
  const pattern = new RegExp(`^/(${words.join('|')})(?=(-ext)?(/|$|\\?))`)
  return {
    translate: (request) => {
      const url = request.url ?? ''
      const word = pattern.exec(url)?.[1]
      if (word === undefined) return undefined
      request.url = `/svc${url.slice(word.length + 1)}`
      for (const name of headers) {
        const value = request.headers[`x-${word}-${name}`]
        if (value !== undefined) request.headers[`x-svc-${name}`] ??= value
      }
      return word
    },
  }
}

/** Makes the response headers that start with `X-Svc-` start with an alias instead. */
export function nameHeadersInAlias(response: ServerResponse, word: string): void {
  const prefix = `X-${word.charAt(0).toUpperCase()}${word.slice(1)}-`
  const set = response.setHeader.bind(response)
  // `writeHead` also calls `setHeader`, because other headers were set before.
  response.setHeader = (name, value) => set(name.replace(/^x-svc-/i, prefix), value)
}

/** Returns an error body with an alias in its name and in the paths it mentions. */
export function errorInAlias(body: ErrorBody, word: string): object {
  return {
    ...body,
    error: body.error.replace(/^svc/, word),
    errorMessage: body.errorMessage.replace(/(?<![\w./-])\/svc(?=(-ext)?\/)/g, () => `/${word}`),
  }
}
