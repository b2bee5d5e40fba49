import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { chainFailure, type DirectoryProblem, type LoginChain } from './index.ts'

const chain: LoginChain = {
  internalUser: 'system',
  members: [
    { name: 'S', users: 'stored' },
    { name: 'L', users: 'directory' },
    { name: 'T', users: 'stored' },
  ],
}
const closed: LoginChain = { ...chain, members: chain.members.slice(0, 1), unreachable: ['L', 'T'] }
const nobodyHasPassword = () => false

type Outcome = Parameters<typeof chainFailure>[3]

const unavailable = (kind: DirectoryProblem['kind'], error = 'No response within [5000] ms'): Outcome => ({
  kind: 'unavailable',
  authenticator: 'L',
  message: 'The directory of authenticator [L] is unavailable; try again',
  problem: { kind, error },
})

describe('the failure of a login', () => {
  const rows: readonly [name: string, outcome: Outcome, reason: string, because: RegExp, of?: LoginChain][] =
    [
      [
        'with a wrong password of a stored user',
        { kind: 'wrong', authenticator: 'S', identity: 'ann' },
        'WRONG_PASSWORD',
        /^Authenticator \[S\] stores a password for \[ann\], but the request has a different one; the first authenticator that knows a user decides, so \[L\], \[T\] did not check the login$/,
      ],
      [
        'with a wrong password of a directory user',
        { kind: 'wrong', authenticator: 'L', identity: 'Ann' },
        'WRONG_PASSWORD',
        /^The directory of authenticator \[L\] found \[ann\] as \[Ann\] but rejected the password; .* \[T\] did not/,
      ],
      [
        'with a wrong password at the last authenticator',
        { kind: 'wrong', authenticator: 'T', identity: 'ann' },
        'WRONG_PASSWORD',
        /^Authenticator \[T\] stores a password for \[ann\], but the request has a different one$/,
      ],
      [
        'of an unknown user',
        { kind: 'unknown' },
        'UNKNOWN_USER',
        /^Authenticator \[S\] stores no password for \[ann\], and the directory of authenticator \[L\] has no entry for \[ann\], and authenticator \[T\] stores no password for \[ann\]$/,
      ],
      [
        'of a user whom a later authenticator may know',
        { kind: 'unknown' },
        'UNKNOWN_USER',
        /^Authenticator \[S\] stores no password for \[ann\]; \[L\], \[T\] did not check the login, because \[svc\.auth\.authenticator\.S\.skipOnFailure\] is not \[true\]$/,
        closed,
      ],
      [
        'of a user whom another authenticator hides',
        { kind: 'hidden', authenticator: 'L', identity: 'Ann' },
        'HIDDEN_USER',
        /^The directory of authenticator \[L\] identifies \[ann\] as \[Ann\], which is also the name of a user/,
      ],
      [
        'after too many guesses',
        { kind: 'throttled', authenticator: 'L', retryAfterSeconds: 4, identity: 'Ann' },
        'TOO_MANY_FAILURES',
        /^Too many logins had failed for \[ann\] .* was not checked; .* after \[4\] seconds/,
      ],
      [
        'whose directory rejects the bind user',
        unavailable('bindRejected', 'Invalid Credentials Code: 0x31'),
        'DIRECTORY_BIND_REJECTED',
        /^The directory of authenticator \[L\] rejected the bind user: Invalid Credentials .*; check \[svc\.auth\.authenticator\.L\.credentialsValidator\.bindUser\] and \[bindPassword\]$/,
      ],
      [
        'whose directory does not respond',
        unavailable('timeout'),
        'DIRECTORY_TIMEOUT',
        /^The directory of authenticator \[L\] did not respond in time: No response within \[5000\] ms$/,
      ],
      [
        'whose directory did not respond to an earlier login',
        unavailable('paused'),
        'DIRECTORY_PAUSED',
        /^The directory of authenticator \[L\] was not queried, because an earlier request has just failed or has not been answered$/,
      ],
      [
        'whose directory refuses connections',
        unavailable('failed', 'connect ECONNREFUSED'),
        'DIRECTORY_FAILED',
        /^The directory of authenticator \[L\] failed: connect ECONNREFUSED$/,
      ],
    ]
  for (const [name, outcome, reason, because, of = chain] of rows)
    it(`${name} has the reason ${reason}`, () => {
      const failure = chainFailure(of, nobodyHasPassword, 'ann', outcome)
      assert.equal(failure.reason, reason)
      assert.match(failure.because, because)
    })

  it('says that names with control characters are not looked up', () => {
    const { reason, because } = chainFailure(chain, nobodyHasPassword, 'an\tn', { kind: 'unknown' })
    assert.equal(reason, 'UNKNOWN_USER')
    assert.match(because, /^The user name contains a control character/)
  })

  it('says that directories never get the password of the internal user', () => {
    const storedByT = (authenticator: string) => authenticator === 'T'
    const { because } = chainFailure(chain, storedByT, 'system', { kind: 'unknown' })
    assert.match(
      because,
      /authenticator \[L\] never sends the password of the internal user to its directory/,
    )
  })
})
