/**
 * Returns rows with one value of each factor, such that any two values of different factors are together in
 * some row. Greedy: every row takes the values that add the most new pairs, so the number of rows is near the
 * minimum.
 */
export function pairwise(factors: readonly (readonly unknown[])[]): number[][] {
  const open = new Set<string>()
  const key = (left: number, i: number, right: number, j: number) => `${left}.${i}.${right}.${j}`
  for (let left = 0; left < factors.length; left++)
    for (let right = left + 1; right < factors.length; right++)
      for (const i of factors[left]!.keys())
        for (const j of factors[right]!.keys()) open.add(key(left, i, right, j))

  const rows: number[][] = []
  for (const first of open) {
    if (!open.has(first)) continue
    const [left, i, right, j] = first.split('.').map(Number) as [number, number, number, number]
    const row = new Map([
      [left, i],
      [right, j],
    ])
    for (const [factor, values] of factors.entries()) {
      if (row.has(factor)) continue
      const gain = (value: number): number =>
        [...row].filter(([other, chosen]) =>
          open.has(other < factor ? key(other, chosen, factor, value) : key(factor, value, other, chosen)),
        ).length
      // Rotates between equally good values, so that all of them are used early.
      const offset = rows.length
      const candidates = [...values.keys()].map((index) => (index + offset) % values.length)
      row.set(
        factor,
        candidates.reduce((best, value) => (gain(value) > gain(best) ? value : best)),
      )
    }
    for (const [a, chosenA] of row)
      for (const [b, chosenB] of row) if (a < b) open.delete(key(a, chosenA, b, chosenB))
    rows.push(factors.map((_, factor) => row.get(factor)!))
  }
  return rows
}
