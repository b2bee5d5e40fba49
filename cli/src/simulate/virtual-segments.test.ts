import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { analyzeTimeline } from '@svc/domain/timeline'
import { virtualSegments } from './index.ts'

const now = Date.UTC(2026, 5, 15, 12)

describe('virtual segments', () => {
  for (const size of [
    { segments: 1, datasources: 1 },
    { segments: 10, datasources: 3 },
    { segments: 2500, datasources: 2 },
    { segments: 5001, datasources: 2 },
  ]) {
    it(`have the requested number, distinct ids, and complete partition sets: ${JSON.stringify(size)}`, () => {
      const all = [...virtualSegments(size, now)].map(({ segment }) => segment)
      assert.equal(all.length, size.segments)
      assert.equal(new Set(all.map(({ id }) => id)).size, size.segments)
      const byDatasource = [...Map.groupBy(all, ({ dataSource }) => dataSource).values()]
      assert.equal(byDatasource.length, size.datasources)
      for (const own of byDatasource) {
        const shown = analyzeTimeline(own).visible.reduce((sum, { chunks }) => sum + chunks, 0)
        assert.equal(shown, own.length)
      }
    })
  }

  it('have neither file nor checksum', () => {
    const [first] = virtualSegments({ segments: 1, datasources: 1 }, now)
    assert.deepEqual(first?.payload.loadSpec, { type: 'virtual', path: '', checksum: '' })
  })
})
