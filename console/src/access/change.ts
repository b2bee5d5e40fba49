/** A request that changes users, roles, or group mappings. */
export interface SentChange {
  readonly method: 'POST' | 'DELETE'
  readonly path: string
  readonly body?: unknown
}

/** A change, and the requests that undo it in order, if it can be undone. */
export interface Change extends SentChange {
  readonly undo?: readonly SentChange[]
}
