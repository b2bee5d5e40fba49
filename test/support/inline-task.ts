/** A task that ingests one inline row of the first day of 2026. */
export const inlineTask = (dataSource: string) => ({
  type: 'index_parallel',
  spec: {
    dataSchema: {
      dataSource,
      timestampSpec: { column: 't', format: 'iso' },
      dimensionsSpec: { dimensions: ['d'] },
      granularitySpec: { segmentGranularity: 'DAY', queryGranularity: 'NONE', rollup: false },
    },
    ioConfig: {
      type: 'index_parallel',
      inputSource: { type: 'inline', data: '{"t":"2026-01-01T00:00:00Z","d":"x"}' },
      inputFormat: { type: 'json' },
    },
  },
})
