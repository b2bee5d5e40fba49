// Proves that README's picture shows what the how-to page shows, which is what came out when the page was run.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { drawPicture, pictureFile } from './picture.ts'

test('the picture is that of the shown output; npm run test:docs -- --update draws it again', () => {
  assert.equal(readFileSync(pictureFile, 'utf8'), drawPicture())
})
