import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { edited, placeBefore, SqlText } from './sql-text.ts'

describe('a query is made readable for the parser', () => {
  const cases: readonly [written: string, read: string][] = [
    ['FLOOR(x TO DAY)', "FLOOR(x ,'DAY')"],
    ['ceil(f(a, b) to   Month )', "ceil(f(a, b) ,'Month'   )"],
    ['CEILING/* ( */(x TO/* to */DAY -- )\n)', "CEILING/* ( */(x ,'DAY'        -- )\n)"],
    ['floor(floor(x TO HOUR) TO DAY)', "floor(floor(x ,'HOUR') ,'DAY')"],
    ['\'FLOOR(x TO DAY)\' "FLOOR(x TO DAY)"', '\'FLOOR(x TO DAY)\' "FLOOR(x TO DAY)"'],
    [
      "$a$ floor(x TO DAY) $$ $a$, E'\\' floor(x TO DAY)'",
      "$a$ floor(x TO DAY) $$ $a$, E'\\' floor(x TO DAY)'",
    ],
    ['/* /* */ FLOOR(x TO DAY) */ -- FLOOR(x TO DAY)', '/* /* */ FLOOR(x TO DAY) */ -- FLOOR(x TO DAY)'],
    ['floor(x)', 'floor(x)'],
    ['floor(x TO DAY', 'floor(x TO DAY'],
    ['my_floor(x TO DAY)', 'my_floor(x TO DAY)'],
    ["'a' --\\r FLOOR(x TO DAY)", "'a' --\\r FLOOR(x TO DAY)"],
    ["-- '\r FLOOR(x TO DAY)", "-- '\r FLOOR(x ,'DAY')"],
    ['1a$x$ FLOOR(x TO DAY) $x$', "1a$x$ FLOOR(x ,'DAY') $x$"],
    ['x\u00a0$$ FLOOR(x TO DAY) $$', 'x  $$ FLOOR(x TO DAY) $$'],
    ["FLOOR(x\u2003TO\u00a0DAY) '\u00a0'", "FLOOR(x   ,'DAY' ) '\u00a0'"],
    ["FLOOR(x TO DAY) $a$ ' FLOOR(x TO DAY)", "FLOOR(x ,'DAY') $a$ ' FLOOR(x TO DAY)"],
    ["FLOOR('ä' TO DAY)", "FLOOR('ä' ,'DAY')"],
  ]
  for (const [written, read] of cases) {
    it(written, () => {
      assert.equal(new SqlText(written).readable(), read)
      assert.equal(Buffer.byteLength(read), Buffer.byteLength(written))
    })
  }
})

describe('the arguments of a call are found', () => {
  const cases: readonly [sql: string, given: readonly string[] | undefined][] = [
    ['f()', []],
    ['f(a)', ['a']],
    ["f( a + (1, 2), ')', [b, c] )", ['a + (1, 2)', "')'", '[b, c]']],
    ['f(a', undefined],
    ['f', undefined],
  ]
  for (const [sql, given] of cases) {
    it(sql, () => {
      const call = new SqlText(`ä ${sql} z`).callAt(3)
      assert.deepEqual(
        call?.arguments.map(({ text }) => text),
        given,
      )
      if (call) assert.equal(call.name.text, 'f')
    })
  }
})

it('maps offsets in an edited text to offsets in the original', () => {
  const { text, shifts } = edited('ä bcd e', [
    { start: 7, end: 8, text: '' },
    { start: 3, end: 4, text: 'xyz' },
  ])
  assert.equal(text, 'ä xyzcd ')
  assert.deepEqual(
    [0, 2, 3, 6, 7, 9].map((place) => placeBefore(shifts, place)),
    [0, 2, 3, 4, 5, 8],
  )
})
