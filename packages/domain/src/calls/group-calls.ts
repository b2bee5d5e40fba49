/** A call between two servers, as one of them recorded it. */
export interface RecordedCall {
  /** Time of the response, ISO 8601. */
  readonly time: string
  readonly direction: 'sent' | 'received'
  /** The role and name of the calling server, as claimed by it; empty if it is not a server. */
  readonly from: string
  /** Sent: the URL of the called server. Received: its role and name. */
  readonly to: string
  readonly method: string
  /** Without the query string. */
  readonly path: string
  /** Whether the connection is encrypted. */
  readonly tls: boolean
  /** Sent: the user the call ran as. Received: the authenticated user; empty if there is none. */
  readonly identity: string
  /** The response status; null if there was no response. */
  readonly status: number | null
  /** Why there was no response. */
  readonly error: string | null
}

/** A server that calls or is called. */
export interface CallingServer {
  readonly role: string
  /** Host and port. */
  readonly name: string
}

/** The calls that a server recorded. */
export interface CallJournal {
  readonly server: CallingServer
  readonly calls: readonly RecordedCall[]
}

/** Equal calls from one server to another. */
export interface CallGroup {
  /** The role is empty if the caller is not a server of the cluster. */
  readonly from: CallingServer
  readonly to: CallingServer
  readonly method: string
  readonly path: string
  readonly tls: boolean
  /** The user that the calls ran as. */
  readonly identity: string
  readonly calls: number
  /** Calls without a response, or with a status of at least 400. */
  readonly failures: number
  readonly lastTime: string
  readonly lastStatus: number | null
  readonly lastError: string | null
}

/** The path of the journals themselves. Reading them is not a call to show. */
export const callJournalPath = '/svc/internal/v1/calls'

/**
 * Returns the recorded calls in groups, sorted by caller, called server, and path. Calls that both servers recorded count
 * once. `servers` are the servers of the cluster with their URLs.
 */
export function groupCalls(
  journals: readonly CallJournal[],
  servers: readonly (CallingServer & { readonly baseUrl: string })[],
): CallGroup[] {
  const byUrl = new Map(servers.map((server) => [server.baseUrl, server]))
  const recording = new Set(journals.map(({ server }) => textOf(server)))
  const groups = new Map<string, CallGroup>()
  for (const { calls } of journals) {
    for (const call of calls) {
      // The journal of the caller has it, too.
      const isKnown = call.direction === 'received' && recording.has(call.from)
      if (isKnown || call.path === callJournalPath) continue
      const from = serverOf(call.from)
      const to = byUrl.get(call.to) ?? serverOf(call.to)
      addCall(groups, call, from, { role: to.role, name: to.name })
    }
  }
  return [...groups.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group)
}

const textOf = ({ role, name }: CallingServer): string => `${role} ${name}`

/** Returns the server that a text such as `broker 10.0.0.1:8082` names. */
function serverOf(text: string): CallingServer {
  const [role = '', name] = text.split(' ', 2)
  return name === undefined ? { role: '', name: role } : { role, name }
}

function addCall(
  groups: Map<string, CallGroup>,
  { time, method, path, tls, identity, status, error }: RecordedCall,
  from: CallingServer,
  to: CallingServer,
): void {
  const key = [textOf(from), textOf(to), path, method, identity, tls].join('\n')
  const known = groups.get(key)
  const isLast = known === undefined || known.lastTime <= time
  groups.set(key, {
    from,
    to,
    method,
    path,
    tls,
    identity,
    calls: (known?.calls ?? 0) + 1,
    failures: (known?.failures ?? 0) + (status === null || status >= 400 ? 1 : 0),
    lastTime: isLast ? time : known.lastTime,
    lastStatus: isLast ? status : known.lastStatus,
    lastError: isLast ? error : known.lastError,
  })
}
