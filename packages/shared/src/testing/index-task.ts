/** Returns the body of an index task that reads rows with the columns `t` and `n`. */
export function indexTask(dataSource: string, inputSource: object, more: object = {}): object {
  return {
    type: 'index_parallel',
    spec: {
      dataSchema: {
        dataSource,
        timestampSpec: { column: 't' },
        dimensionsSpec: { dimensions: [{ type: 'long', name: 'n' }] },
        granularitySpec: { segmentGranularity: 'DAY', rollup: false },
      },
      ioConfig: { type: 'index_parallel', inputSource, inputFormat: { type: 'json' }, ...more },
    },
  }
}

/** Returns an inline input source with one row for each of these days of January 2026. */
export const rowsOf = (...days: readonly number[]) => ({ type: 'inline', data: rowsText(...days) })

/** The same rows as JSON lines. */
export const rowsText = (...days: readonly number[]): string =>
  days.map((day, n) => `{"t":"2026-01-${String(day).padStart(2, '0')}T12:00:00Z","n":${n}}`).join('\n')
