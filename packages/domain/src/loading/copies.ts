/** A server that can hold segments, and what it holds at the moment of the snapshot. */
export interface LoadingServer {
  readonly name: string
  readonly type: 'historical' | 'broker'
  readonly tier: string
  /** 0 for a server without room for segments. */
  readonly maxSizeBytes: number
  /** Size of the segments in `served`. */
  readonly usedSizeBytes: number
  /** Size of the segments in `loading`. */
  readonly loadingSizeBytes: number
  /** A server that is to be emptied: it gets no loads, and gives up copies once others have them. */
  readonly decommissioning: boolean
  /** Ids of the segments it serves, those being dropped included. */
  readonly served: ReadonlySet<string>
  /** Ids of the segments it was told to load and does not serve yet. */
  readonly loading: ReadonlySet<string>
  /** Ids of the segments it was told to drop. */
  readonly dropping: ReadonlySet<string>
}

/** What a server has to do with a segment. */
export type CopyState = 'served' | 'loading' | 'dropping'

const states: readonly CopyState[] = ['served', 'loading', 'dropping']
const served = 0
const loading = 1
const dropping = 2

/**
 * Which servers hold a segment. Chains in two typed arrays, because a million segments with a list each would take
 * several times the memory and the time.
 */
export class CopyIndex {
  private readonly firstOf = new Map<string, number>()
  private readonly nextOf: Int32Array
  private readonly packed: Int32Array
  private size = 0

  constructor(servers: readonly LoadingServer[]) {
    const most = servers.reduce(
      (sum, server) => sum + server.served.size + server.loading.size + server.dropping.size,
      0,
    )
    this.nextOf = new Int32Array(most)
    this.packed = new Int32Array(most)
    servers.forEach((server, index) => {
      for (const id of server.served) this.add(id, index, server.dropping.has(id) ? dropping : served)
      for (const id of server.loading) if (!server.served.has(id)) this.add(id, index, loading)
      for (const id of server.dropping) {
        if (!server.served.has(id) && !server.loading.has(id)) this.add(id, index, dropping)
      }
    })
  }

  private add(id: string, serverIndex: number, state: number): void {
    this.nextOf[this.size] = this.firstOf.get(id) ?? -1
    this.packed[this.size] = serverIndex * states.length + state
    this.firstOf.set(id, this.size)
    this.size += 1
  }

  /** Calls `visit` for every server that has something to do with the segment. */
  forEach(id: string, visit: (serverIndex: number, state: CopyState) => void): void {
    for (let at = this.firstOf.get(id) ?? -1; at >= 0; at = this.nextOf[at]!) {
      const packed = this.packed[at]!
      visit(Math.floor(packed / states.length), states[packed % states.length]!)
    }
  }
}
