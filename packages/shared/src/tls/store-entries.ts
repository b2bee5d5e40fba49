/** One named entry of a store, as PEM. */
interface StoreEntry {
  readonly cert?: string
  readonly key?: string
  readonly ca?: string
}

/** The entries of a store by name. */
export type StoreEntries = Readonly<Record<string, StoreEntry>>
