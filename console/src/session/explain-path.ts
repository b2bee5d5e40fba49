/** A request of a user. */
interface Request {
  readonly user: string
  readonly method: string
  readonly path: string
}

/** Returns the address of the screen that explains whether a request is allowed. */
export const explainPath = ({ user, method, path }: Request): string =>
  `/access?${new URLSearchParams({ user, method, path })}`

/** Returns the address of the screen that explains why a request was refused. */
export const refusalPath = (requestId: string): string =>
  `/access?${new URLSearchParams({ refused: requestId })}`

/** Returns the ID of the refused request in such an address; undefined if there is none. */
export const refusedIdIn = (search: string): string | undefined =>
  new URLSearchParams(search).get('refused') || undefined

/** Returns the request in such an address; undefined if there is none. */
export function requestIn(search: string): Request | undefined {
  const parameters = new URLSearchParams(search)
  const [user, method, path] = ['user', 'method', 'path'].map((name) => parameters.get(name) ?? '')
  return user && method && path ? { user, method, path } : undefined
}

/** Returns the request that a security event about a missing permission names, such as `GET /status`. */
export function requestOfEvent({
  kind,
  key,
  identity,
}: {
  readonly kind: string
  readonly key: string
  readonly identity: string
}): Request | undefined {
  const [, method, path] = /^(GET|POST|PUT|DELETE) (\/.*)$/.exec(key) ?? []
  return kind === 'forbidden' && method && path && identity !== ''
    ? { user: identity, method, path }
    : undefined
}
