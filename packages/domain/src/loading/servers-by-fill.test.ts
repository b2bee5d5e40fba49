import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { draftOf, fillOf, giveLoad, hasRoom } from './server-draft.ts'
import { ServersByFill } from './servers-by-fill.ts'
import { simulatedServer } from './simulated-servers.ts'

const mostQueuedLoads = 4

test('the heap chooses as a search through all servers would', () => {
  const sizes = fc.array(
    fc.record({ maxSizeBytes: fc.integer({ min: 0, max: 60 }), usedSizeBytes: fc.nat(20) }),
    {
      maxLength: 8,
    },
  )
  // A segment of a size, the servers that hold it already, and one that is given a load from elsewhere, if any.
  const requests = fc.array(
    fc.record({
      sizeBytes: fc.nat(12),
      holders: fc.subarray([0, 1, 2, 3, 4, 5, 6, 7]),
      given: fc.option(fc.nat(7)),
    }),
    { minLength: 1, maxLength: 30 },
  )
  fc.assert(
    fc.property(sizes, requests, (given, asked) => {
      const drafts = given.map((server, index) => draftOf(simulatedServer({ ...server, name: `n${index}` })))
      const servers = new ServersByFill(drafts, mostQueuedLoads)
      for (const { sizeBytes, holders, given: elsewhere } of asked) {
        const other = elsewhere === null ? undefined : drafts[elsewhere]
        if (other !== undefined) {
          giveLoad(other, 1)
          servers.noteGivenElsewhere()
        }
        const mayHold = (draft: (typeof drafts)[number]) => !holders.includes(drafts.indexOf(draft))
        const suitable = drafts.filter(
          (draft) => draft.queuedLoads < mostQueuedLoads && hasRoom(draft, sizeBytes) && mayHold(draft),
        )
        const leastFill = Math.min(...suitable.map(fillOf))
        const fillBefore = new Map(drafts.map((draft) => [draft, fillOf(draft)]))
        const chosen = servers.assign(sizeBytes, mayHold)
        assert.equal(chosen === undefined, suitable.length === 0)
        if (chosen === undefined) continue
        assert.ok(suitable.includes(chosen))
        assert.equal(fillBefore.get(chosen), leastFill)
      }
    }),
    { numRuns: 1000 },
  )
})
