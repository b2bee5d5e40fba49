import type { KeyObject } from 'node:crypto'

/** A key in a store: its alias, the key, and its certificate followed by those of its issuers, PEM. */
export interface StoredKey {
  readonly name: string
  readonly key: KeyObject
  readonly chain: readonly string[]
}
