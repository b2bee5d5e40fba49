import assert from 'node:assert/strict'
import { it } from 'node:test'
import { StreamLimit } from './index.ts'

const caller = (identity: string) => ({ authenticator: 'metadata', identity })

it('limits streams per caller and in total, until some end', () => {
  const limit = new StreamLimit(3, 2)
  const leaveFirst = limit.enter(caller('ann'))
  limit.enter(caller('ann'))
  assert.throws(() => limit.enter(caller('ann')), {
    code: 'busy',
    message: 'Too many open streams for user [ann]: expected at most [2]',
  })
  limit.enter(caller('ben'))
  assert.throws(() => limit.enter(caller('ben')), {
    code: 'busy',
    message: 'Too many open streams: expected at most [3] in total',
  })
  leaveFirst()
  limit.enter(caller('ann'))
})
