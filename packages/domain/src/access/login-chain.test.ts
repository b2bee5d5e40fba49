import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type ChainOutcome, type LoginChain, type LoginVerdict, walkChain, walkChainNow } from './index.ts'

const chain: LoginChain = {
  internalUser: 'system',
  members: [
    { name: 'first', users: 'directory' },
    { name: 'stored', users: 'stored' },
    { name: 'second', users: 'directory' },
  ],
}
const openChain: LoginChain = { ...chain, members: [...chain.members, { name: 'all', users: 'everyone' }] }

const known = (identity: string): LoginVerdict => ({ kind: 'known', identity, groups: [] })
const unavailable = { kind: 'unavailable', message: 'No response' } as const satisfies LoginVerdict

interface Case {
  readonly name: string
  readonly user?: string
  readonly stored?: readonly string[]
  /** The answers by authenticator and user; otherwise unknown. */
  readonly answers?: Readonly<Record<string, LoginVerdict>>
  readonly outcome: ChainOutcome
  /** The outcome if the chain ends with an authenticator that accepts everyone. */
  readonly openOutcome?: ChainOutcome
  readonly questions: readonly string[]
}

const everyone: ChainOutcome = { kind: 'everyone', authenticator: 'all' }
const cases: readonly Case[] = [
  {
    name: 'the first authenticator that knows the user decides',
    answers: { 'first ann': known('ann'), 'second ann': known('ann') },
    outcome: { kind: 'known', authenticator: 'first', identity: 'ann', groups: [] },
    questions: ['first ann'],
  },
  {
    name: 'a wrong password ends the walk',
    stored: ['ann'],
    answers: { 'stored ann': { kind: 'wrong', identity: 'ann' }, 'second ann': known('ann') },
    outcome: { kind: 'wrong', identity: 'ann', authenticator: 'stored' },
    questions: ['first ann', 'stored ann'],
  },
  {
    name: 'a user without a stored password is not checked there',
    outcome: { kind: 'unknown' },
    openOutcome: everyone,
    questions: ['first ann', 'second ann'],
  },
  {
    name: 'a throttled login ends the walk',
    answers: { 'first ann': { kind: 'throttled', retryAfterSeconds: 5 }, 'second ann': known('ann') },
    outcome: { kind: 'throttled', retryAfterSeconds: 5, authenticator: 'first' },
    questions: ['first ann'],
  },
  {
    name: 'a later authenticator accepts a user while a directory is unavailable',
    stored: ['ann'],
    answers: { 'first ann': unavailable, 'stored ann': known('ann') },
    outcome: { kind: 'known', authenticator: 'stored', identity: 'ann', groups: [] },
    questions: ['first ann', 'stored ann'],
  },
  {
    name: 'no authenticator rejects a user while a directory is unavailable',
    stored: ['ann'],
    answers: { 'first ann': unavailable, 'stored ann': { kind: 'wrong', identity: 'ann' } },
    outcome: { ...unavailable, authenticator: 'first' },
    questions: ['first ann', 'stored ann'],
  },
  {
    name: 'no authenticator accepts everyone while a directory is unavailable',
    answers: { 'first ann': unavailable },
    outcome: { ...unavailable, authenticator: 'first' },
    openOutcome: { ...unavailable, authenticator: 'first' },
    questions: ['first ann', 'second ann'],
  },
  {
    name: 'a stored user hides the identity of a directory',
    user: 'ANN',
    stored: ['ann'],
    answers: { 'second ANN': known('ann') },
    outcome: { kind: 'hidden', authenticator: 'second', identity: 'ann' },
    questions: ['first ANN', 'second ANN'],
  },
  {
    name: 'a later stored user does not hide the identity of a directory',
    user: 'ANN',
    stored: ['ann'],
    answers: { 'first ANN': known('ann') },
    outcome: { kind: 'known', authenticator: 'first', identity: 'ann', groups: [] },
    questions: ['first ANN'],
  },
  {
    name: 'an earlier directory hides the identity of a later one',
    user: 'ANN',
    answers: { 'second ANN': known('ann'), 'first ann': { kind: 'wrong' } },
    outcome: { kind: 'hidden', authenticator: 'second', identity: 'ann' },
    questions: ['first ANN', 'second ANN', 'first ann'],
  },
  {
    name: 'an earlier directory that does not know the identity does not hide it',
    user: 'ANN',
    answers: { 'second ANN': known('ann') },
    outcome: { kind: 'known', authenticator: 'second', identity: 'ann', groups: [] },
    questions: ['first ANN', 'second ANN', 'first ann'],
  },
  {
    name: 'directories never check the internal user if its password is stored',
    user: 'system',
    stored: ['system'],
    answers: { 'first system': known('system'), 'stored system': known('system') },
    outcome: { kind: 'known', authenticator: 'stored', identity: 'system', groups: [] },
    questions: ['stored system'],
  },
  {
    name: 'a stored internal user hides the identity of an earlier directory',
    user: 'SYSTEM',
    stored: ['system'],
    answers: { 'first SYSTEM': known('system') },
    outcome: { kind: 'hidden', authenticator: 'first', identity: 'system' },
    questions: ['first SYSTEM'],
  },
  {
    name: 'a name with a control character is never looked up',
    user: 'an\tn',
    stored: ['an\tn'],
    outcome: { kind: 'unknown' },
    openOutcome: { kind: 'unknown' },
    questions: [],
  },
]

describe('walking a chain', () => {
  for (const { name, user = 'ann', stored = [], answers = {}, outcome, openOutcome, questions } of cases) {
    it(`${name}`, async () => {
      const questioned: string[] = []
      const answer = ({ authenticator, user: asked }: { authenticator: string; user: string }) => {
        questioned.push(`${authenticator} ${asked}`)
        return answers[`${authenticator} ${asked}`] ?? { kind: 'unknown' as const }
      }
      const hasPassword = (authenticator: string, one: string) =>
        authenticator === 'stored' && stored.includes(one)
      assert.deepEqual(walkChainNow(chain, hasPassword, user, answer), outcome)
      assert.deepEqual(questioned, questions)
      assert.deepEqual(await walkChain(chain, hasPassword, user, async (one) => answer(one)), outcome)
      assert.deepEqual(walkChainNow(openChain, hasPassword, user, answer), openOutcome ?? outcome)
    })
  }

  it('has no outcome if an answer is not available now', () => {
    assert.equal(
      walkChainNow(
        chain,
        () => false,
        'ann',
        () => undefined,
      ),
      undefined,
    )
  })
})
