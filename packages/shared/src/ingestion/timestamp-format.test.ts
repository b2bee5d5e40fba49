import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { literal } from '../duckdb/index.ts'
import { testEngine } from './test-engine.ts'
import { instantSql, isInstantSql, strptimeFormat } from './timestamp-format.ts'

const engine = await testEngine()

async function read(value: string, type: string, format: string): Promise<string | undefined> {
  const [row] = await engine.rows(
    `SELECT epoch_ms(found) AS ms FROM (
       SELECT ${instantSql('v', type, format)} AS found FROM (SELECT ${value}::${type} AS v)
     ) WHERE ${isInstantSql('found')}`,
  )
  return row && new Date(Number(row.ms)).toISOString()
}

describe('a timestamp as a string', () => {
  const cases: [format: string, given: string, expect: string | undefined][] = [
    ['auto', '2026-10-01T00:00:00Z', '2026-10-01T00:00:00.000Z'],
    ['auto', '2026-10-01 12:30', '2026-10-01T12:30:00.000Z'],
    ['auto', '1790812800000', '2026-10-01T00:00:00.000Z'],
    ['auto', '1790812800000.0', '2026-10-01T00:00:00.000Z'],
    ['auto', '-1', '1969-12-31T23:59:59.999Z'],
    ['auto', '', undefined],
    ['auto', 'yesterday', undefined],
    ['iso', '2026', '2026-01-01T00:00:00.000Z'],
    ['iso', '2026-10', '2026-10-01T00:00:00.000Z'],
    ['iso', '2026-10-31', '2026-10-31T00:00:00.000Z'],
    ['iso', '2026-10-01T05', '2026-10-01T05:00:00.000Z'],
    ['iso', '2026-10-01T05+02', '2026-10-01T03:00:00.000Z'],
    ['iso', '2026-10-01T05:06+02:30', '2026-10-01T02:36:00.000Z'],
    ['iso', '2026-10-01T05:06:07-0800', '2026-10-01T13:06:07.000Z'],
    ['iso', '2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ['iso', '2026-02-29T00:00:00Z', undefined],
    ['iso', '2026-13-01', undefined],
    ['iso', '2026-10-01T00:00:00+99:00', undefined],
    ['iso', '2001/01/01 06:55', undefined],
    ['iso', '2026-10-01 00:00:00 Europe/Berlin', undefined],
    ['iso', 'epoch', undefined],
    ['iso', 'infinity', undefined],
    ['iso', '1790812800000', undefined],
    // Truncated, never rounded: a row must not move to the next day.
    ['iso', '2026-10-01T23:59:59.9999999Z', '2026-10-01T23:59:59.999Z'],
    ['iso', '1969-12-31T23:59:59.9999Z', '1969-12-31T23:59:59.999Z'],
    ['iso', '0000-01-01', '0000-01-01T00:00:00.000Z'],
    ['iso', '9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
    ['iso', '10000-01-01', undefined],
    ['posix', '1790812800', '2026-10-01T00:00:00.000Z'],
    // Milliseconds read as seconds would be the year 58718.
    ['posix', '1790812800000', undefined],
    ['posix', '9223372036854775807', undefined],
    ['posix', '99999999999999999999', undefined],
    ['posix', '1790812800.5', undefined],
    ['millis', '1790812800123', '2026-10-01T00:00:00.123Z'],
    ['millis', '2026-10-01', undefined],
    ['micro', '1790812800123456', '2026-10-01T00:00:00.123Z'],
    ['micro', '-1', '1969-12-31T23:59:59.999Z'],
    ['nano', '1790812800123456789', '2026-10-01T00:00:00.123Z'],
    ['nano', '-9223372036854775808', '1677-09-21T00:12:43.145Z'],
    ['yyyy/MM/dd HH:mm', '2001/01/01 06:55', '2001-01-01T06:55:00.000Z'],
    ['yyyy/MM/dd HH:mm', '2001/01/01 06:55:00', undefined],
    ['dd MMM yyyy hh:mm a Z', '01 Oct 2026 05:00 PM +0200', '2026-10-01T15:00:00.000Z'],
    ['EEEE, d MMMM yyyy', 'Thursday, 1 October 2026', '2026-10-01T00:00:00.000Z'],
    ["yyyy-MM-dd'T'HH:mm:ss.SSS", '2026-10-01T01:02:03.004', '2026-10-01T01:02:03.004Z'],
    ["yyyy-MM-dd'T'HH:mm:ss.SSSSSS", '2026-10-01T01:02:03.004999', '2026-10-01T01:02:03.004Z'],
    ['yyyy-MM-dd HH:mm:ss.SSSSSSSSS', '2026-10-01 01:02:03.004999999', '2026-10-01T01:02:03.004Z'],
    ['yyyyDDD', '2026274', '2026-10-01T00:00:00.000Z'],
    ['yy-MM-dd', '26-10-01', '2026-10-01T00:00:00.000Z'],
    ["yyyy 'o''clock'", "2026 o'clock", '2026-01-01T00:00:00.000Z'],
    ['yyyy%MM', '2026%10', '2026-10-01T00:00:00.000Z'],
  ]
  for (const [format, given, expect] of cases) {
    it(`with format [${format}] ${expect === undefined ? 'rejects' : 'accepts'} [${given}]`, async () => {
      assert.equal(await read(literal(given), 'VARCHAR', format), expect)
    })
  }
})

describe('a timestamp of another type', () => {
  const cases: [type: string, given: string, format: string, expect: string | undefined][] = [
    ['BIGINT', '1790812800000', 'auto', '2026-10-01T00:00:00.000Z'],
    ['INTEGER', '1790812800', 'posix', '2026-10-01T00:00:00.000Z'],
    ['BIGINT', '9223372036854775807', 'posix', undefined],
    ['UBIGINT', '18446744073709551615', 'millis', undefined],
    ['DOUBLE', '1790812800000', 'millis', '2026-10-01T00:00:00.000Z'],
    ['BIGINT', '20261001', 'yyyyMMdd', '2026-10-01T00:00:00.000Z'],
    ['DATE', "'2026-10-01'", 'auto', '2026-10-01T00:00:00.000Z'],
    ['TIMESTAMP', "'2026-10-01 23:59:59.999999'", 'millis', '2026-10-01T23:59:59.999Z'],
    ['TIMESTAMP_NS', "'2026-10-01 23:59:59.999999999'", 'auto', '2026-10-01T23:59:59.999Z'],
    ['TIMESTAMP WITH TIME ZONE', "'2026-10-01 02:00:00+02'", 'auto', '2026-10-01T00:00:00.000Z'],
    ['TIMESTAMP', "'infinity'", 'auto', undefined],
    ['DATE', "'-infinity'", 'auto', undefined],
    ['BOOLEAN', 'true', 'auto', undefined],
  ]
  for (const [type, given, format, expect] of cases) {
    it(`${type} with format [${format}] ${expect === undefined ? 'rejects' : 'accepts'} [${given}]`, async () => {
      assert.equal(await read(given, type, format), expect)
    })
  }
})

describe('a timestamp pattern', () => {
  const cases: [pattern: string, expect: object][] = [
    ["yyyy''MM", { format: "%Y'%m" }],
    ["yyyy-MM-dd'T'HH:mm:ssZZ", { format: '%Y-%m-%dT%H:%M:%S%z' }],
    ["yyyy'", { problem: 'an unclosed quote' }],
    ["'yyyy", { problem: 'an unclosed quote' }],
    ['HH:mm', { problem: 'no year' }],
    ['xxxx', { problem: 'the unsupported letter [x]' }],
  ]
  for (const [pattern, expect] of cases) {
    it(`[${pattern}] ${'problem' in expect ? 'is rejected' : 'is converted'}`, () =>
      assert.deepEqual(strptimeFormat(pattern), expect))
  }
})
