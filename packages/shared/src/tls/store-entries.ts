/** What stands under one name of a store, as PEM. */
interface StoreEntry {
  readonly cert?: string
  readonly key?: string
  readonly ca?: string
}

/** The entries of a store by their names. */
export type StoreEntries = Readonly<Record<string, StoreEntry>>
