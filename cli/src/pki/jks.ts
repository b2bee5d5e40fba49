import { createHash, randomBytes, X509Certificate } from 'node:crypto'
import type { StoredKey } from './stored-key.ts'

// The format of Java key stores, as written by keytool with -storetype JKS.
const magic = 0xfeedfeed
const formatVersion = 2
const keyTag = 1
const certificateTag = 2

/** The algorithm that protects keys in such a store: a stream of SHA-1 digests (1.3.6.1.4.1.42.2.17.1.1). */
const protectionAlgorithm = Buffer.from('300e060a2b060104012a02110101 0500'.replace(' ', ''), 'hex')

/** A JKS store with one key and its chain. */
export function jksKeyStore({ name, key, chain }: StoredKey, password: string, now: number): Buffer {
  const plain = key.export({ type: 'pkcs8', format: 'der' })
  const protectedKey = derSequence(
    Buffer.concat([protectionAlgorithm, derOctets(protectKey(plain, password))]),
  )
  const entry = [
    unsigned(keyTag),
    text(name),
    time(now),
    unsigned(protectedKey.length),
    protectedKey,
    unsigned(chain.length),
    ...chain.flatMap(certificate),
  ]
  return store([entry], password)
}

/** A JKS store of trusted certificates by alias. */
export function jksTrustStore(
  certificates: Readonly<Record<string, string>>,
  password: string,
  now: number,
): Buffer {
  const entries = Object.entries(certificates).map(([name, pem]) => [
    unsigned(certificateTag),
    text(name),
    time(now),
    ...certificate(pem),
  ])
  return store(entries, password)
}

function store(entries: readonly (readonly Buffer[])[], password: string): Buffer {
  const content = Buffer.concat([
    unsigned(magic),
    unsigned(formatVersion),
    unsigned(entries.length),
    ...entries.flat(),
  ])
  const digest = createHash('sha1')
    .update(Buffer.concat([passwordBytes(password), Buffer.from('Mighty Aphrodite'), content]))
    .digest()
  return Buffer.concat([content, digest])
}

function protectKey(plain: Buffer, password: string): Buffer {
  const salt = randomBytes(20)
  const sha1 = (...parts: Buffer[]) =>
    createHash('sha1')
      .update(Buffer.concat([passwordBytes(password), ...parts]))
      .digest()
  const encrypted = Buffer.from(plain)
  let digest: Buffer = salt
  for (let offset = 0; offset < plain.length; offset += 20) {
    digest = sha1(digest)
    for (let index = 0; index < Math.min(20, plain.length - offset); index++)
      encrypted[offset + index]! ^= digest[index]!
  }
  return Buffer.concat([salt, encrypted, sha1(plain)])
}

/** Java encodes passwords as big-endian UTF-16. */
const passwordBytes = (password: string): Buffer => Buffer.from(password, 'utf16le').swap16()

const certificate = (pem: string): Buffer[] => {
  const { raw } = new X509Certificate(pem)
  return [text('X.509'), unsigned(raw.length), raw]
}

function unsigned(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

function time(at: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(BigInt(Math.trunc(at)))
  return bytes
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'utf8')
  const length = Buffer.alloc(2)
  length.writeUInt16BE(bytes.length)
  return Buffer.concat([length, bytes])
}

const derSequence = (content: Buffer): Buffer => der(0x30, content)
const derOctets = (content: Buffer): Buffer => der(0x04, content)

function der(tag: number, content: Buffer): Buffer {
  const size =
    content.length < 0x80
      ? Buffer.from([content.length])
      : Buffer.from([0x82, content.length >> 8, content.length & 0xff])
  return Buffer.concat([Buffer.from([tag]), size, content])
}
