/** A value for a `?` or `$1` of the query. */
export interface Parameter {
  readonly type: string
  readonly value: string | number | boolean | null
}
