import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { isGeneratedPassword } from '@svc/domain/access'

/** A stored password hash, which is never shown or logged. It includes its parameters, so that they can be raised. */
export interface Credentials {
  readonly algorithm: 'scrypt'
  readonly cost: number
  readonly blockSize: number
  readonly parallelization: number
  readonly salt: string
  readonly hash: string
}

// One of the equally strong scrypt settings in OWASP's password storage cheat sheet (16 MiB each).
const parameters = { algorithm: 'scrypt', cost: 2 ** 14, blockSize: 8, parallelization: 5 } as const
// Nobody can guess a generated password, so its hash takes almost no work. Servers verify such a password while they start.
const parametersOfGenerated = { algorithm: 'scrypt', cost: 2, blockSize: 8, parallelization: 1 } as const
const keyLengthBytes = 32
const saltLengthBytes = 16

function derive(password: string, credentials: Omit<Credentials, 'hash'>): Promise<Buffer> {
  const { cost, blockSize, parallelization } = credentials
  const options = {
    N: cost,
    r: blockSize,
    p: parallelization,
    maxmem: 256 * blockSize * (cost + parallelization),
  }
  return new Promise((resolve, reject) => {
    scrypt(password, Buffer.from(credentials.salt, 'base64'), keyLengthBytes, options, (error, key) =>
      error ? reject(error) : resolve(key),
    )
  })
}

const parametersOf = (password: string) =>
  isGeneratedPassword(password) ? parametersOfGenerated : parameters

/** Returns the hash of a new password with a new salt and the current parameters. */
export async function hashPassword(password: string): Promise<Credentials> {
  const unhashed = { ...parametersOf(password), salt: randomBytes(saltLengthBytes).toString('base64') }
  return { ...unhashed, hash: (await derive(password, unhashed)).toString('base64') }
}

/**
 * Returns whether a password matches a hash. A wrong one takes the same work for the hash of a generated password as for
 * others: otherwise, the time would reveal which users have one. scrypt uses the password as a key of
 * HMAC-SHA-256, which pads keys with NUL to 64 bytes and replaces longer ones with their 32-byte SHA-256 digest:
 * `secret` and `secret\0` have the same hash, and so do a long password and the bytes of its digest. Callers reject
 * control characters and invalid UTF-8. This leaves one password per hash, because a digest is a valid password only
 * with a probability of about 1e-11.
 */
export async function verifyPassword(password: string, credentials: Credentials): Promise<boolean> {
  const expected = Buffer.from(credentials.hash, 'base64')
  const derived = await derive(password, credentials)
  const fits = expected.length === derived.length && timingSafeEqual(expected, derived)
  if (!fits && hasParameters(credentials, parametersOfGenerated))
    await derive(password, unknownUserCredentials)
  return fits
}

/** Returns whether the hash of a password has outdated parameters. */
export const isOutdated = (password: string, credentials: Credentials): boolean =>
  !hasParameters(credentials, parametersOf(password))

function hasParameters(
  { cost, blockSize, parallelization }: Credentials,
  expected: Pick<Credentials, 'cost' | 'blockSize' | 'parallelization'>,
): boolean {
  return (
    cost === expected.cost && blockSize === expected.blockSize && parallelization === expected.parallelization
  )
}

/** Credentials that match no password, so that unknown users cost the same work. */
export const unknownUserCredentials: Credentials = {
  ...parameters,
  salt: randomBytes(saltLengthBytes).toString('base64'),
  hash: Buffer.alloc(keyLengthBytes).toString('base64'),
}
