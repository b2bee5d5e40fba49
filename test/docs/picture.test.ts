// README's picture shows the output in the how-to page, which is the actual output of the last run.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { drawPicture, pictureFile } from './picture.ts'

test('the picture matches the shown output; `npm run test:docs -- --update` redraws it', () => {
  assert.equal(readFileSync(pictureFile, 'utf8'), drawPicture())
})
