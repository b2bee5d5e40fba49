import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { loadingServers, simulatedServer } from '../testing/index.ts'
import { addLoad, draftOf, hasRoom } from './server-draft.ts'
import { ServersByFill } from './servers-by-fill.ts'

const maxQueuedLoads = 4

type Sizes = { maxSizeBytes: number; usedSizeBytes: number }[]
type Requests = {
  sizeBytes: number
  holders: number[]
  given: number | null
  freed: { server: number; bytes: number } | null
}[]

/** An empty segment still fits on a server without space, but not on one that is too full. */
const emptySegment: [Sizes, Requests] = [
  [
    { maxSizeBytes: 1, usedSizeBytes: 2 },
    { maxSizeBytes: 0, usedSizeBytes: 0 },
    { maxSizeBytes: 17, usedSizeBytes: 0 },
  ],
  [{ sizeBytes: 0, holders: [2], given: null, freed: null }],
]

test('assigns to the same servers as a search through all of them', () => {
  const sizes = fc.array(
    fc.record({ maxSizeBytes: fc.integer({ min: 0, max: 60 }), usedSizeBytes: fc.nat(20) }),
    {
      maxLength: 8,
    },
  )
  // A segment size, the servers that already hold the segment, and optionally a server that gets a load elsewhere, and one that
  // drops a replica.
  const requests = fc.array(
    fc.record({
      sizeBytes: fc.nat(12),
      holders: fc.subarray([0, 1, 2, 3, 4, 5, 6, 7]),
      given: fc.option(fc.nat(7)),
      freed: fc.option(fc.record({ server: fc.nat(7), bytes: fc.nat(12) })),
    }),
    { minLength: 1, maxLength: 30 },
  )
  fc.assert(
    fc.property(sizes, requests, (given, requested) => {
      const drafts = loadingServers(
        given.map((server, index) => simulatedServer({ ...server, name: `n${index}` })),
      ).map((server) => draftOf(server))
      const servers = new ServersByFill(drafts, maxQueuedLoads)
      for (const [turn, { sizeBytes, holders, given: elsewhere, freed }] of requested.entries()) {
        const other = elsewhere === null ? undefined : drafts[elsewhere]
        if (other !== undefined) {
          addLoad(other, 1)
          servers.noteGivenElsewhere()
        }
        const dropping = freed === null ? undefined : drafts[freed.server]
        if (dropping !== undefined)
          servers.free(dropping, Math.min(freed!.bytes, dropping.filledBytes - dropping.freedBytes))
        for (const holder of holders) if (drafts[holder]) drafts[holder].takenFor = turn
        const suitable = drafts.filter(
          (draft) =>
            draft.queuedLoads < maxQueuedLoads && hasRoom(draft, sizeBytes) && draft.takenFor !== turn,
        )
        const lowestFill = Math.min(...suitable.map(({ fill }) => fill))
        const fillBefore = new Map(drafts.map((draft) => [draft, draft.fill]))
        const chosen = servers.assign(sizeBytes, turn)
        assert.equal(chosen === undefined, suitable.length === 0)
        if (chosen === undefined) continue
        assert.ok(suitable.includes(chosen))
        assert.equal(fillBefore.get(chosen), lowestFill)
      }
    }),
    { numRuns: 1000, examples: [emptySegment] },
  )
})
