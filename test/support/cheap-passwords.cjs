// Loaded into every service of a cluster with cheap passwords before its own source: hashing and verifying a password takes
// a hundredth of the work, so that hundreds of logins take seconds instead of minutes. It is plain JavaScript, because
// otherwise each service, task, and query process would load the TypeScript compiler of Node.js.
const crypto = require('node:crypto')
const { syncBuiltinESMExports } = require('node:module')

const { scrypt } = crypto

// Hashes with less work stay as they are.
const cheaper = (options) => (options.N < 2 ** 14 ? options : { ...options, N: 2 ** 10, p: 1 })

crypto.scrypt = (password, salt, length, options, done) =>
  scrypt(password, salt, length, cheaper(options), done)
syncBuiltinESMExports()
