/** What a key is derived from. */
export interface Pkcs12KeyInput {
  readonly password: string | undefined
  readonly salt: Buffer
  /** 1 for a key, 2 for an initialization vector, 3 for a key that protects integrity. */
  readonly purpose: number
  readonly iterations: number
  /** The length of the key. */
  readonly lengthBytes: number
  readonly hash: (bytes: Buffer) => Buffer
  /** The size of the blocks of the hash function. */
  readonly blockBytes: number
}

/** Returns a key for a PKCS12 store (RFC 7292 B.2). Throws a RangeError if there are no iterations. */
export function pkcs12Key(input: Pkcs12KeyInput): Buffer {
  const { password, salt, purpose, iterations, lengthBytes, hash, blockBytes } = input
  // Without iterations, the key would not depend on the password.
  if (!(iterations >= 1))
    throw new RangeError(`Invalid number of iterations [${iterations}]: expected at least 1`)
  const inBlocks = (bytes: Buffer) => Buffer.alloc(blockBytes * Math.ceil(bytes.length / blockBytes), bytes)
  const diversifier = Buffer.alloc(blockBytes, purpose)
  const secret = Buffer.concat([inBlocks(salt), inBlocks(passwordBytes(password))])
  const key: Buffer[] = []
  for (let derivedBytes = 0; derivedBytes < lengthBytes; derivedBytes += key[0]!.length) {
    let digest = hash(Buffer.concat([diversifier, secret]))
    for (let iteration = 1; iteration < iterations; iteration++) digest = hash(digest)
    key.push(digest)
    const added = Buffer.alloc(blockBytes, digest)
    for (let start = 0; start < secret.length; start += blockBytes)
      addToBlock(secret.subarray(start, start + blockBytes), added)
  }
  return Buffer.concat(key).subarray(0, lengthBytes)
}

/** UTF-16 with the first byte of each character first, and a zero at the end. */
function passwordBytes(password: string | undefined): Buffer {
  return password === undefined ? Buffer.alloc(0) : Buffer.from(`${password}\0`, 'utf16le').swap16()
}

/** Adds a number and 1 to the number in a block of the same length, and ignores the overflow. */
function addToBlock(block: Buffer, added: Buffer): void {
  let sum = 0x100
  for (let index = block.length - 1; index >= 0; index--) {
    sum = (sum >> 8) + block[index]! + added[index]!
    block[index] = sum
  }
}
