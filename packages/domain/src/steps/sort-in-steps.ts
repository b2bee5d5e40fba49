const chunkLength = 4096

/** Returns a sorted copy of a list. Pauses regularly. Equal items keep their order. */
export function* sortInSteps<Item>(
  items: readonly Item[],
  compare: (a: Item, b: Item) => number,
): Generator<undefined, Item[]> {
  let chunks: Item[][] = []
  for (let from = 0; from < items.length; from += chunkLength) {
    chunks.push(items.slice(from, from + chunkLength).sort(compare))
    yield
  }
  while (chunks.length > 1) {
    const merged: Item[][] = []
    for (let index = 0; index < chunks.length; index += 2)
      merged.push(yield* mergeSorted(chunks[index]!, chunks[index + 1] ?? [], compare))
    chunks = merged
  }
  return chunks[0] ?? []
}

function* mergeSorted<Item>(
  first: Item[],
  second: Item[],
  compare: (a: Item, b: Item) => number,
): Generator<undefined, Item[]> {
  // Lists are often sorted already.
  if (second.length === 0 || compare(first.at(-1)!, second[0]!) <= 0) return first.concat(second)
  const merged: Item[] = []
  let [left, right] = [0, 0]
  while (left < first.length && right < second.length) {
    if (merged.length % chunkLength === 0) yield
    merged.push(compare(first[left]!, second[right]!) <= 0 ? first[left++]! : second[right++]!)
  }
  while (left < first.length) merged.push(first[left++]!)
  while (right < second.length) merged.push(second[right++]!)
  return merged
}
