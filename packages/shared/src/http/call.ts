/** One call between servers, as seen by one of the two. */
export interface Call {
  /** Time of the response, ISO 8601. */
  readonly time: string
  readonly direction: 'sent' | 'received'
  /** The role and name of the calling server, as claimed by it. */
  readonly from: string
  /** Sent: the URL of the called server. Received: the role and name of this server. */
  readonly to: string
  readonly method: string
  /** Without the query string. */
  readonly path: string
  /** Whether the connection is encrypted. */
  readonly tls: boolean
  /** Sent: the user the call ran as. Received: the authenticated user; empty if there is none. */
  readonly identity: string
  /** The subject of the peer's certificate; null if it presented none. */
  readonly certificate: string | null
  /** The response status; null if there was no response. */
  readonly status: number | null
  /** Why there was no response. */
  readonly error: string | null
}
