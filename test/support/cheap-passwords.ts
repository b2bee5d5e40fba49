// Loaded into every service of a cluster with cheap passwords before its own source: hashing and verifying a password takes
// a hundredth of the work, so that hundreds of logins take seconds instead of minutes.
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'

const { scrypt } = crypto
type Parameters = crypto.ScryptOptions & { readonly N: number }
type Done = (error: Error | null, key: Buffer) => void

/** The parameters to use instead: hashes with less work stay as they are. */
const cheaper = (options: Parameters): Parameters =>
  options.N < 2 ** 14 ? options : { ...options, N: 2 ** 10, p: 1 }

crypto.scrypt = ((password: string, salt: Buffer, length: number, options: Parameters, done: Done) =>
  scrypt(password, salt, length, cheaper(options), done)) as typeof scrypt
syncBuiltinESMExports()
