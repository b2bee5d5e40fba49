import type { JsonObject } from '@svc/domain/validation'

// Nodes of DuckDB's parser, without locations.

/** Returns a function call. */
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

/** Returns a column by its path: the names of its table, if any, and its own. */
export const columnOf = (names: readonly string[]): JsonObject => ({
  class: 'COLUMN_REF',
  type: 'COLUMN_REF',
  alias: '',
  column_names: names,
})

/** Returns a string literal. */
export const textOf = (value: string): JsonObject => ({
  class: 'CONSTANT',
  type: 'VALUE_CONSTANT',
  alias: '',
  value: { type: { id: 'VARCHAR', type_info: null }, is_null: false, value },
})
