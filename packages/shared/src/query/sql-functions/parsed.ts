import type { JsonObject } from '@svc/domain/validation'

// What DuckDB's parser makes of an expression, without its place.

/** The call of a function. */
export const callOf = (name: string, children: readonly unknown[]): JsonObject => ({
  class: 'FUNCTION',
  type: 'FUNCTION',
  alias: '',
  function_name: name,
  schema: '',
  children,
  filter: null,
  order_bys: { type: 'ORDER_MODIFIER', orders: [] },
  distinct: false,
  is_operator: false,
  export_state: false,
  catalog: '',
})

/** A column by its names: those of its table, where it has any, and its own. */
export const columnOf = (names: readonly string[]): JsonObject => ({
  class: 'COLUMN_REF',
  type: 'COLUMN_REF',
  alias: '',
  column_names: names,
})

/** A text as it is. */
export const textOf = (value: string): JsonObject => ({
  class: 'CONSTANT',
  type: 'VALUE_CONSTANT',
  alias: '',
  value: { type: { id: 'VARCHAR', type_info: null }, is_null: false, value },
})
