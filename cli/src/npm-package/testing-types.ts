/** Starts clusters for tests, each in its own folder, on ports that are free. */

/** What a cluster consists of. */
export interface ClusterOptions {
  /** `secure` (the default) has TLS and logins; `plain` has neither. */
  readonly profile?: 'secure' | 'plain'
  /** Number of historicals by tier. Default: one in `_default_tier`. */
  readonly historicals?: Readonly<Record<string, number>>
  /** Number of instances of the other roles. Default: one of each, and no workers. */
  readonly instances?: Readonly<
    Partial<Record<'router' | 'coordinator' | 'overlord' | 'broker' | 'worker', number>>
  >
  /**
   * Properties, such as `'svc.coordinator.period': 'PT1S'`. A role in front sets one for that role alone:
   * `'historical.svc.server.maxSize': '1g'`. Lists and objects are written as JSON.
   */
  readonly properties?: Readonly<Record<string, unknown>>
  /** The password of the user `admin`. Default: random. */
  readonly adminPassword?: string
  /** The folder with all state, which is kept. Default: a temporary folder, which is deleted when the cluster stops. */
  readonly home?: string
  /** Maximum time to wait until all servers are ready, in milliseconds. Default: three minutes. */
  readonly readyTimeoutMs?: number
}

/** A running cluster. It stops with the process that started it. */
export interface Cluster {
  /**
   * The URL of the router, which forwards requests to the server that handles them. Paths that begin with `/svc-ext`, such as
   * those of users and roles, need the prefix `/proxy/coordinator`.
   */
  readonly routerUrl: string
  /** The URL of the first coordinator. */
  readonly coordinatorUrl: string
  /** The URLs of all servers by instance, such as `overlord` and `historical-1`. */
  readonly urls: Readonly<Record<string, string>>
  /** The certificate of the authority that clients must trust, PEM; empty in the profile `plain`. */
  readonly ca: string
  /** The user who may do everything; the profile `plain` ignores the login. */
  readonly admin: { readonly username: string; readonly password: string }
  /** The folder with all state: `--home` of every command. */
  readonly home: string
  /** A client of the router, logged in as admin. */
  readonly client: Client
  /**
   * Returns to the state of a new cluster: metadata, users, audit entries, tasks, segments, caches, and queues. Processes,
   * URLs, certificates, and the password of the admin stay the same. If `home` contained a cluster before, returns to the
   * state in which `startCluster` first started it. Throws a `RequestError` with status 409 if a reset or a load is in progress.
   */
  reset(): Promise<void>
  /** Stores the current state under a name, for `load`. Tasks that run at that time run again after `load`. */
  snapshot(name: string): Promise<void>
  /**
   * Returns to a state that `snapshot` stored. Historicals then load its segments again. Throws a `RequestError` with status
   * 409 if a reset or a load is in progress.
   */
  load(name: string): Promise<void>
  /** Stops the cluster. Returns when no process is left. */
  stop(): Promise<void>
}

/** Sends requests to the router. Paths begin with `/`. Bodies are JSON. */
export interface Client {
  /** Returns the body of the response. Throws a `RequestError` if the status is not 2xx. */
  get<Body = unknown>(path: string): Promise<Body>
  /** Returns the body of the response. Throws a `RequestError` if the status is not 2xx. */
  post<Body = unknown>(path: string, body?: unknown): Promise<Body>
  /** Returns the body of the response. Throws a `RequestError` if the status is not 2xx. */
  delete<Body = unknown>(path: string): Promise<Body>
  /** Returns the response, whatever its status is. */
  request<Body = unknown>(request: Request): Promise<Answer<Body>>
}

/** A request. */
export interface Request {
  /** Default: `GET`. */
  readonly method?: string
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** The login of another user; null for none. */
  readonly login?: { readonly username: string; readonly password: string } | null
}

/** A response; the body is a string if it is not JSON, and undefined if there is none. */
export interface Answer<Body = unknown> {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Body
}

/** A response with an error status. */
export interface RequestError extends Error {
  readonly status: number
  readonly body: unknown
}

/** Starts a cluster. Returns when all servers are ready. Throws an Error that says why if they cannot start. */
export declare function startCluster(options?: ClusterOptions): Promise<Cluster>
