import type { KeyObject } from 'node:crypto'

/** A key as it stands in a store: its alias, itself, its certificate and those of its issuers, PEM. */
export interface StoredKey {
  readonly name: string
  readonly key: KeyObject
  readonly chain: readonly string[]
}
