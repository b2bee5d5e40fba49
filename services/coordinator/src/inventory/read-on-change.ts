/**
 * Returns a function that reads a value again only if the count of its changes is different from that of the last read, or if that
 * read failed. While changes are not counted, it always reads.
 */
export function readOnChange<Value>(
  read: () => Promise<Value>,
  changeCount: () => number | undefined,
): () => Promise<Value> {
  let last: { readonly value: Promise<Value>; readonly changes: number } | undefined
  return () => {
    const changes = changeCount()
    if (last !== undefined && last.changes === changes) return last.value
    const value = read()
    if (changes === undefined) return value
    const started = { value, changes }
    last = started
    value.catch(() => {
      if (last === started) last = undefined
    })
    return value
  }
}
