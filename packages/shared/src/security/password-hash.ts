import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'

/** A stored password: never shown, never logged. The parameters stand in the row, so that they can be raised. */
export interface Credentials {
  readonly algorithm: 'scrypt'
  readonly cost: number
  readonly blockSize: number
  readonly parallelization: number
  readonly salt: string
  readonly hash: string
}

// One of the settings of scrypt that OWASP's password storage cheat sheet lists as equally strong (16 MiB each).
const parameters = { algorithm: 'scrypt', cost: 2 ** 14, blockSize: 8, parallelization: 5 } as const
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

/** The hash of a new password with a fresh salt and today's parameters. */
export async function hashPassword(password: string): Promise<Credentials> {
  const unhashed = { ...parameters, salt: randomBytes(saltLengthBytes).toString('base64') }
  return { ...unhashed, hash: (await derive(password, unhashed)).toString('base64') }
}

/**
 * Whether a password is the one that was hashed; takes the same work for any password. scrypt uses the password as a
 * key of HMAC-SHA-256, which pads keys with NUL to 64 bytes and replaces longer ones with their 32-byte SHA-256 digest:
 * `secret` and `secret\0` have the same hash, and so have a long password and the bytes of its digest. Callers refuse
 * control characters and invalid UTF-8, which leaves one text per hash: a digest is a valid password only with a
 * probability of about 1e-11.
 */
export async function verifyPassword(password: string, credentials: Credentials): Promise<boolean> {
  const expected = Buffer.from(credentials.hash, 'base64')
  const derived = await derive(password, credentials)
  return expected.length === derived.length && timingSafeEqual(expected, derived)
}

/** Whether a hash was made with other parameters than today's. */
export function isOutdated({ cost, blockSize, parallelization }: Credentials): boolean {
  return (
    cost !== parameters.cost ||
    blockSize !== parameters.blockSize ||
    parallelization !== parameters.parallelization
  )
}

/** Credentials that no password fits: verifying against them costs an unknown user the same work. */
export const unknownUserCredentials: Credentials = {
  ...parameters,
  salt: randomBytes(saltLengthBytes).toString('base64'),
  hash: Buffer.alloc(keyLengthBytes).toString('base64'),
}
