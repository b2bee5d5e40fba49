// Characters of JSON that are produced between two pauses.
const textSlice = 200_000
// Objects in deeper levels are small.
const maxLevels = 3

/** Returns the JSON of an object. Pauses regularly between the entries of large lists and objects. */
export function* jsonInSlices(value: object): Generator<undefined, string> {
  const parts: string[] = []
  let untilPause = textSlice

  /** Returns whether to pause. */
  function add(text: string): boolean {
    parts.push(text)
    untilPause -= text.length
    if (untilPause > 0) return false
    untilPause = textSlice
    return true
  }
  function* addList(list: readonly unknown[]): Generator<undefined, void> {
    let before = '['
    for (const entry of list) {
      if (add(before + JSON.stringify(entry))) yield
      before = ','
    }
    parts.push(before === '[' ? '[]' : ']')
  }
  function* addObject(object: object, levels: number): Generator<undefined, void> {
    let before = '{'
    for (const [name, entry] of Object.entries(object)) {
      if (entry === undefined) continue
      if (add(`${before}${JSON.stringify(name)}:`)) yield
      before = ','
      if (Array.isArray(entry)) yield* addList(entry)
      else if (levels > 1 && typeof entry === 'object' && entry !== null) yield* addObject(entry, levels - 1)
      else if (add(JSON.stringify(entry))) yield
    }
    parts.push(before === '{' ? '{}' : '}')
  }

  yield* addObject(value, maxLevels)
  return parts.join('')
}
