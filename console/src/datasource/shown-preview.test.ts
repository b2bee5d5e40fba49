import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PreviewView } from '../web-worker/index.ts'
import { nextShown, type ShownPreview } from './shown-preview.ts'

const preview = (subject: string, assumesSpace: boolean): ShownPreview => ({
  subject,
  view: { assumesSpace } as PreviewView,
})

test('a newer inventory does not replace an exact preview of the same edit with one that assumes space', () => {
  const exact = preview('edit', false)
  const cases: readonly (readonly [
    string,
    ShownPreview | undefined,
    ShownPreview,
    'stays' | 'is replaced',
  ])[] = [
    ['the first preview', undefined, preview('edit', true), 'is replaced'],
    ['the exact one after it', preview('edit', true), exact, 'is replaced'],
    ['one that assumes space, of the same edit', exact, preview('edit', true), 'stays'],
    ['an exact one of the same edit', exact, preview('edit', false), 'is replaced'],
    ['one that assumes space, of another edit', exact, preview('other', true), 'is replaced'],
    ['the same again', exact, exact, 'stays'],
  ]
  for (const [name, shown, next, expected] of cases)
    assert.equal(nextShown(shown, next), expected === 'stays' ? shown : next, name)
})
