/** The type that native queries have for one of SQL. */
export function nativeType(sqlType: string): string {
  if (/^(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|BOOLEAN|DATE|TIMESTAMP.*)$/.test(sqlType)) return 'LONG'
  if (/^(DOUBLE|DECIMAL.*)$/.test(sqlType)) return 'DOUBLE'
  return sqlType === 'FLOAT' ? 'FLOAT' : 'STRING'
}
