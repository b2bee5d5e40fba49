/** The service that a path is for, and the path on that server. */
export interface Target {
  readonly role: 'coordinator' | 'overlord' | 'broker'
  readonly path: string
}

interface Prefix {
  readonly prefix: string
  readonly role: Target['role']
  /** Whether the prefix itself is removed. */
  readonly stripped: boolean
}

const prefixes: readonly Prefix[] = [
  { prefix: '/proxy/coordinator', role: 'coordinator', stripped: true },
  { prefix: '/proxy/overlord', role: 'overlord', stripped: true },
  { prefix: '/svc/coordinator', role: 'coordinator', stripped: false },
  { prefix: '/svc/indexer', role: 'overlord', stripped: false },
  { prefix: '/svc/simulation', role: 'coordinator', stripped: false },
  { prefix: '/svc/broker', role: 'broker', stripped: false },
  { prefix: '/svc/v2', role: 'broker', stripped: false },
]

// Internal requests between servers are not allowed from outside, no matter who the caller is.
const closedPath = /^\/svc-internal/i

/**
 * Returns where to forward the target of a request line, or undefined if it must not be forwarded. The target must be a
 * plain path. Targets that name a host or contain dot segments, backslashes, or double slashes are rejected, so that
 * every server reads the same address and prefix. A path that starts with one of `aliases` instead of `svc` goes to the
 * same server but keeps its name, so that the server responds with the caller's names.
 */
export function targetOf(requestTarget: string, aliases: readonly string[] = []): Target | undefined {
  const [path = ''] = requestTarget.split('?', 1)
  if (!/^\/[^/\\]/.test(path) || /\\|\/\/|\s|#/.test(path)) return undefined
  if (path.split('/').some((part) => /^(\.|%2e){1,2}$/i.test(part))) return undefined
  const first = path.slice(1).split('/', 1)[0] as string
  const known = aliases.includes(first) ? `/svc${path.slice(first.length + 1)}` : path
  for (const { prefix, role, stripped } of prefixes) {
    if (known !== prefix && !known.startsWith(`${prefix}/`)) continue
    const rest = stripped ? requestTarget.slice(prefix.length) : requestTarget
    if (!rest.startsWith('/') || closedPath.test(unescaped(rest))) return undefined
    return { role, path: rest }
  }
  return undefined
}

/** Decodes percent-escaped ASCII characters, as a server may do. */
const unescaped = (text: string): string =>
  text.replace(/%([2-7][\da-f])/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
