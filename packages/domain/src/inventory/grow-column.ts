type Column = Int32Array<ArrayBuffer> | Float64Array<ArrayBuffer> | Uint8Array<ArrayBuffer>

const minLength = 1024

/** Returns a column with room for at least `length` values: the same one, or a copy at least 50% longer. */
export function grown<C extends Column>(column: C, length: number): C {
  if (length <= column.length) return column
  const columnType = column.constructor as new (length: number) => C
  const longer = new columnType(Math.max(minLength, length, Math.ceil(column.length * 1.5)))
  longer.set(column as never)
  return longer
}
