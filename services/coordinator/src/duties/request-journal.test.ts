import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RequestJournal } from './request-journal.ts'

test('answers count for the run that sent the request, even while later runs are in progress', () => {
  const journal = new RequestJournal()
  journal.begin(100)
  journal.noteDecided(3)
  journal.noteSent(3, 0)
  journal.begin(200)
  journal.noteDecided(2)
  journal.noteSent(1, 1)
  journal.noteAnswer(150, false)
  journal.noteAnswer(150, true)
  journal.noteAnswer(210, false)
  // A request of an earlier leader.
  journal.noteAnswer(50, false)
  assert.deepEqual(journal.between(90, 190), { decided: 3, sent: 3, retried: 0, answered: 1, failed: 1 })
  assert.deepEqual(journal.between(199, 300), { decided: 2, sent: 1, retried: 1, answered: 1, failed: 0 })
})

test('a run without requests has no counts, and old runs are forgotten', () => {
  const journal = new RequestJournal()
  journal.noteAnswer(1, false)
  for (let run = 1; run <= 250; run += 1) {
    journal.begin(run)
    if (run % 2 === 0) journal.noteDecided(1)
  }
  assert.equal(journal.between(249, 249), undefined)
  assert.equal(journal.between(250, 250)?.decided, 1)
  // Runs without requests do not push out others.
  assert.equal(journal.between(52, 52)?.decided, 1)
  assert.equal(journal.between(50, 50), undefined)
})
