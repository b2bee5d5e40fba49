import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Failure } from '../failure/index.ts'
import {
  nullable,
  omittable,
  optional,
  readCount,
  readFields,
  readList,
  readListingProblems,
  readText,
  schemaOf,
} from './index.ts'

const read = readFields({ name: readText, list: readList(readFields({ n: readCount(1) })) })

/** Returns the field and the message of the refusal. */
function refusal(json: unknown): [field: string | undefined, message: string] {
  try {
    readListingProblems(read, json)
  } catch (error) {
    const { code, context, message } = error as Failure
    assert.equal(code, 'invalidInput')
    return [context.field, message]
  }
  throw new Error('accepted')
}

describe('an object that is read listing its problems', () => {
  it('is returned if it is valid', () => {
    const valid = { name: 'a', list: [{ n: 1 }] }
    assert.deepEqual(readListingProblems(read, valid), valid)
  })

  it('is refused with the problems of all parts, in order', () => {
    assert.deepEqual(refusal({ list: [{ n: 1 }, { n: 0 }, { m: 1 }, 5] }), [
      'name',
      [
        'Missing value for [name]: expected a string',
        'Invalid value [0] for [list[1].n]: expected an integer of at least 1',
        'Unknown field [list[2].m] with value [1]: expected one of [n]',
        'Invalid value [5] for [list[3]]: expected an object',
      ].join('; '),
    ])
  })

  it('is refused with five problems and the number of other problems', () => {
    const [, message] = refusal({ name: 'a', list: Array.from({ length: 20 }, () => ({ n: 0 })) })
    assert.match(message, /^(Invalid value \[0\] for \[list\[\d\]\.n\]: [\w ]+; ){5}and 15 more$/)
  })

  it('is not read further after a hundred problems', () => {
    const [, message] = refusal({ name: 'a', list: Array.from({ length: 10_000 }, () => ({ n: 0 })) })
    assert.match(message, /; and 95 more$/)
  })

  it('is named in the message as the body if it is not an object', () => {
    assert.deepEqual(refusal([]), ['body', 'Invalid value [[]] for [body]: expected an object'])
  })
})

describe('an object with secrets', () => {
  const readSecrets = readFields({ password: readText }, { isSecret: true })
  const rows: readonly [given: unknown, message: string][] = [
    ['hunter2', 'Invalid value for [body]: expected an object'],
    [{ passwort: 'hunter2' }, 'Unknown field [passwort]: expected one of [password]'],
  ]
  for (const [given, message] of rows)
    it(`is refused without its values: ${message}`, () =>
      assert.throws(() => readListingProblems(readSecrets, given), { message }))
})

describe('the fields of an object', () => {
  it('may be omitted or have other fields next to them', () => {
    const readSome = readFields(
      { a: omittable(readText), b: omittable(readText, 'x'), c: nullable(readText), d: optional(readText) },
      { ignoresOthers: true },
    )
    assert.deepEqual(readSome({ c: null, e: 1 }, ''), { a: undefined, b: 'x', c: null, d: null })
    assert.throws(() => readSome({ b: null, c: null }, ''), {
      message: 'Invalid value [null] for [b]: expected a string',
    })
    assert.throws(() => readSome({}, ''), { message: 'Missing value for [c]: expected a string' })
    assert.deepEqual(schemaOf(readSome), {
      type: 'object',
      properties: {
        a: { type: 'string' },
        b: { default: 'x', type: 'string' },
        c: { type: ['string', 'null'] },
        d: { type: ['string', 'null'] },
      },
      required: ['c'],
    })
  })
})
