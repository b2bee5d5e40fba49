import type { ServerReport } from '../segment-serving/index.ts'

/** Returns the first report of a historical that serves nothing, except for `more`, whose fields may also be invalid. */
export const serverReport = (name: string, more: object = {}): ServerReport => ({
  name,
  process: name,
  type: 'historical',
  tier: 'hot',
  priority: 0,
  maxSizeBytes: 1000,
  usedSizeBytes: 0,
  session: 's',
  term: 1,
  from: 0,
  to: 0,
  segments: [],
  changes: [],
  failures: [],
  voidUntilMs: 0,
  ...more,
})
