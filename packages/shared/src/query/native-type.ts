/** The type that segments have for a scalar type of SQL, by its name; STRING for any other. */
export function nativeScalarType(sqlType: string): string {
  const isLong =
    /^(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|BOOLEAN|DATE|TIMESTAMP(_S|_MS|_NS| WITH TIME ZONE)?)$/
  if (isLong.test(sqlType)) return 'LONG'
  if (/^(DOUBLE|DECIMAL\(\d+,\d+\))$/.test(sqlType)) return 'DOUBLE'
  return sqlType === 'FLOAT' ? 'FLOAT' : 'STRING'
}
