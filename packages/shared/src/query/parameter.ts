/** A value for a `?` of the query, or a `$1`. */
export interface Parameter {
  readonly type: string
  readonly value: string | number | boolean | null
}
