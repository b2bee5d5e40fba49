/** A map or a set, both of which list their oldest entry first. */
interface Collection<Key> {
  readonly size: number
  keys(): Iterable<Key>
  delete(key: Key): boolean
}

/** Removes the oldest entries of a map or a set until it has at most `maxEntries`. */
export function dropOldest<Key>(collection: Collection<Key>, maxEntries: number): void {
  for (const oldest of collection.keys()) {
    if (collection.size <= maxEntries) return
    collection.delete(oldest)
  }
}

/** Stores an entry as the newest one, and removes the oldest ones beyond `maxEntries`. */
export function keepNewest<Key, Value>(
  map: Map<Key, Value>,
  key: Key,
  value: Value,
  maxEntries: number,
): void {
  map.delete(key)
  map.set(key, value)
  dropOldest(map, maxEntries)
}
