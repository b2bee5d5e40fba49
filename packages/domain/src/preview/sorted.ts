type SortedColumn = Float64Array | Uint32Array

/** Returns the first position in a part of a sorted column whose value is not below the bound. */
export function lowerBound(values: SortedColumn, bound: number, from: number, to: number): number {
  let low = from
  let high = to
  while (low < high) {
    const middle = (low + high) >>> 1
    if (values[middle]! < bound) low = middle + 1
    else high = middle
  }
  return low
}

/** Returns the first position in a part of a sorted column whose value is above the bound. */
export function upperBound(values: SortedColumn, bound: number, from: number, to: number): number {
  let low = from
  let high = to
  while (low < high) {
    const middle = (low + high) >>> 1
    if (values[middle]! <= bound) low = middle + 1
    else high = middle
  }
  return low
}
