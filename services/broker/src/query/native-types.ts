const nativeTypes: Readonly<Record<string, string>> = {
  TIMESTAMP: 'LONG',
  BIGINT: 'LONG',
  BOOLEAN: 'LONG',
  FLOAT: 'FLOAT',
  DOUBLE: 'DOUBLE',
}

/** The type that native queries have for one of SQL. */
export const nativeType = (sqlType: string): string => nativeTypes[sqlType] ?? 'STRING'
