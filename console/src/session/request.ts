import { visible } from '../ui/index.ts'
import { forgetRefusalOf, noteRefusal } from './refusals.ts'
import { currentSession, endSession } from './session.ts'

/** A request that failed, with a message that can be shown. */
export class RequestFailure extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    // A message may contain any name.
    super(visible(message))
    this.name = 'RequestFailure'
    this.status = status
  }
}

/** What to send in addition to the path. */
export interface RequestOptions {
  readonly method?: 'GET' | 'POST' | 'DELETE'
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

type Undefinable<Fields> = { [Name in keyof Fields]?: Fields[Name] | undefined }

/** Answers requests without a server. Called with the method and the path. */
type LocalAnswers = (method: string, path: string) => Promise<Response>

let localAnswers: LocalAnswers | undefined

/** Answers all later requests with a function instead of a server. */
export function answerLocally(answers: LocalAnswers): void {
  localAnswers = answers
}

/** Sends a request of this tab's user. Throws RequestFailure unless the status is below 400. */
export async function send(
  path: string,
  { method = 'GET', body, headers, signal }: RequestOptions = {},
): Promise<Response> {
  const { authorization } = currentSession()
  const screen = globalThis.location.pathname
  const response = await (localAnswers?.(method, path) ??
    fetchFromRouter(path, authorization, { method, body, headers, signal }))
  if (response.status === 401) endSession(authorization)
  if (response.ok) {
    forgetRefusalOf(method, withoutQuery(path))
    return response
  }
  const message = await messageOf(response)
  // A refusal that arrives after the user has left the screen would be shown on the next one.
  if (response.status === 403 && screen === globalThis.location.pathname)
    noteRefusal({ method, path: withoutQuery(path), message })
  throw new RequestFailure(response.status, message)
}

const withoutQuery = (path: string): string => path.split('?')[0]!

async function fetchFromRouter(
  path: string,
  authorization: string | undefined,
  { method = 'GET', body, headers, signal }: Undefinable<RequestOptions>,
): Promise<Response> {
  return await fetch(path, {
    method,
    // With credentials, a response with status 401 would open the browser's own login form.
    credentials: 'omit',
    cache: 'no-store',
    headers: {
      ...(authorization === undefined ? {} : { Authorization: authorization }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  }).catch((error: unknown) => {
    if (signal?.aborted) throw error
    throw new RequestFailure(0, 'The router is unreachable. Check that the cluster is running.')
  })
}

async function messageOf(response: Response): Promise<string> {
  const text = await response.text().catch(() => '')
  try {
    const { errorMessage } = JSON.parse(text) as { errorMessage?: unknown }
    if (typeof errorMessage === 'string') return errorMessage
  } catch {
    // Not every error has a JSON body.
  }
  return `The router returned status ${response.status}`
}

/** Sends a request and returns its JSON. */
export async function fetchJson<Answer>(path: string, options?: RequestOptions): Promise<Answer> {
  const response = await send(path, options)
  const text = await response.text()
  return (text === '' ? undefined : JSON.parse(text)) as Answer
}
