/** Returns the first items whose texts, each with a comma, have at most `maxLength` characters in total. */
export function fittingItems<Item>(
  items: readonly Item[],
  maxLength: number,
  textOf: (item: Item) => string,
): readonly Item[] {
  let length = 0
  const count = items.findIndex((item) => {
    length += textOf(item).length + 1
    return length > maxLength
  })
  return count < 0 ? items : items.slice(0, count)
}
