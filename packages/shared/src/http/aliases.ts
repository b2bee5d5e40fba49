import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ErrorBody } from './error-body.ts'

/** Other words under which the interface is offered beside `svc`: `/word/**` and `/word-ext/**`. */
export interface Aliases {
  /**
   * Turns a request that uses an alias into the one that it stands for, path and headers, and returns the alias;
   * undefined, and nothing changed, where it uses none.
   */
  translate(request: IncomingMessage): string | undefined
}

const headers = ['author', 'comment']

/** Aliases of those words. What servers ask of each other has no alias. */
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

/** Lets the headers that an answer will have and that begin with `X-Svc-` begin with the word of an alias. */
export function nameHeadersInAlias(response: ServerResponse, word: string): void {
  const prefix = `X-${word.charAt(0).toUpperCase()}${word.slice(1)}-`
  const set = response.setHeader.bind(response)
  // Also what is given to `writeHead` goes this way, since other headers are set before.
  response.setHeader = (name, value) => set(name.replace(/^x-svc-/i, prefix), value)
}

/** An error as it is told to those who came by an alias: its name, and the paths that it names, with that word. */
export function errorInAlias(body: ErrorBody, word: string): object {
  return {
    ...body,
    error: body.error.replace(/^svc/, word),
    errorMessage: body.errorMessage.replace(/(?<![\w./-])\/svc(?=(-ext)?\/)/g, () => `/${word}`),
  }
}
