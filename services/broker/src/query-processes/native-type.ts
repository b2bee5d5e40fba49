/** Returns the native type for the name of a scalar SQL type; STRING for any other type. */
export function nativeScalarType(sqlType: string): string {
  const isLong =
    /^(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|BOOLEAN|DATE|TIMESTAMP(_S|_MS|_NS| WITH TIME ZONE)?)$/
  if (isLong.test(sqlType)) return 'LONG'
  if (/^(DOUBLE|DECIMAL\(\d+,\d+\))$/.test(sqlType)) return 'DOUBLE'
  return sqlType === 'FLOAT' ? 'FLOAT' : 'STRING'
}
