import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Failure } from '../failure/index.ts'
import { readCount, readFields, readList, readListingProblems, readText } from './index.ts'

const read = readFields({ name: readText, list: readList(readFields({ n: readCount(1) })) })

/** Returns the field and the message of the refusal. */
function refusal(json: unknown): [field: string | undefined, message: string] {
  try {
    readListingProblems(read, json, 'request')
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
    assert.deepEqual(readListingProblems(read, valid, 'request'), valid)
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

  it('is refused with five problems and the number of the others', () => {
    const [, message] = refusal({ name: 'a', list: Array.from({ length: 20 }, () => ({ n: 0 })) })
    assert.match(message, /^(Invalid value \[0\] for \[list\[\d\]\.n\]: [\w ]+; ){5}and 15 more$/)
  })

  it('is not read further after a hundred problems', () => {
    const [, message] = refusal({ name: 'a', list: Array.from({ length: 10_000 }, () => ({ n: 0 })) })
    assert.match(message, /; and 95 more$/)
  })

  it('is named in the message if it is not an object', () => {
    assert.deepEqual(refusal([]), ['request', 'Invalid value [[]] for [request]: expected an object'])
  })
})
