import type { SegmentColumn } from '@svc/domain/segment'

/** DuckDB's name for each column type of a segment. */
export const storedTypes = {
  string: 'VARCHAR',
  long: 'BIGINT',
  float: 'FLOAT',
  double: 'DOUBLE',
  boolean: 'BOOLEAN',
} as const satisfies Record<SegmentColumn['type'], string>
