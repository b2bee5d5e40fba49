import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { bucketOf, granularities } from '@svc/domain/time'
import fc from 'fast-check'
import { bucketStartSql } from './granularity-sql.ts'
import { testEngine } from './test-engine.ts'

const engine = await testEngine()

const instants = fc.array(
  fc.integer({ min: Date.UTC(-1, 0), max: Date.UTC(9999, 11, 31) }).map((ms) => ms + (ms % 7 === 0 ? 0 : 1)),
  { minLength: 50, maxLength: 50 },
)
const near = [
  0,
  1,
  -1,
  Date.UTC(2024, 1, 29),
  Date.UTC(2024, 1, 29) - 1,
  Date.UTC(1969, 11, 29),
  Date.UTC(2026, 0, 1),
]

describe('the SQL for the start of a bucket agrees with bucketOf', () => {
  for (const granularity of granularities.filter((known) => known !== 'ALL')) {
    it(`for ${granularity}`, async () => {
      await fc.assert(
        fc.asyncProperty(instants, async (drawn) => {
          const all = [...near, ...drawn]
          const rows = await engine.rows(
            `SELECT epoch_ms(${bucketStartSql(granularity, 't')}) AS start FROM (
               SELECT epoch_ms(ms)::TIMESTAMP_MS AS t, n FROM (
                 SELECT unnest([${all.join(', ')}]::BIGINT[]) AS ms, generate_subscripts([${all.join(', ')}], 1) AS n))
             ORDER BY n`,
          )
          assert.deepEqual(
            rows.map((row) => Number(row.start)),
            all.map((ms) => bucketOf(granularity, ms).start),
          )
        }),
        { numRuns: 10 },
      )
    })
  }

  it('is undefined for ALL', () => assert.equal(bucketStartSql('ALL', 't'), undefined))
})
