/** Who a path is for, and the path as that server knows it. */
export interface Target {
  readonly role: 'coordinator' | 'overlord' | 'broker'
  readonly path: string
}

interface Prefix {
  readonly prefix: string
  readonly role: Target['role']
  /** Whether the prefix itself is taken off. */
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

// What the other servers ask of each other is not for callers from outside, whatever their identity.
const closedPath = /^\/svc-internal/i

/**
 * Where the target of a request line goes, or undefined where it goes nowhere. The target must be a plain path:
 * what names a host, goes upwards or hides its slashes in dots and escapes is refused, so that neither the address
 * nor the prefix can be anything but what is read here. A path that begins with one of `aliases` in place of `svc`
 * goes where the path with `svc` would, under its own name: the server there answers in the caller's words.
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

/** The text with its escapes of plain characters undone, as a server may read it. */
const unescaped = (text: string): string =>
  text.replace(/%([2-7][\da-f])/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
