import type { SegmentColumn } from '@svc/domain/segment'

/** The name in DuckDB of each type that columns of a segment have. */
export const storedTypes = {
  string: 'VARCHAR',
  long: 'BIGINT',
  float: 'FLOAT',
  double: 'DOUBLE',
  boolean: 'BOOLEAN',
} as const satisfies Record<SegmentColumn['type'], string>
