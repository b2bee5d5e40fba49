import { inflateRawSync } from 'node:zlib'
import { invalidInput } from '@svc/domain/failure'

const endSignature = 0x06054b50
const entrySignature = 0x02014b50
const endLength = 22
const stored = 0
const deflated = 8

/**
 * Returns the files of a jar in one of its folders, by their paths in it. Throws invalidInput if it is not a jar. Reads
 * what Maven writes: stored and deflated files of less than 4 GiB.
 */
export function readJar(bytes: Buffer, folder: string): ReadonlyMap<string, Buffer> {
  try {
    return filesIn(bytes, folder)
  } catch (error) {
    if (error instanceof RangeError) throw invalidInput('Invalid jar file: it is incomplete')
    throw error
  }
}

function filesIn(bytes: Buffer, folder: string): ReadonlyMap<string, Buffer> {
  const files = new Map<string, Buffer>()
  const end = bytes.lastIndexOf(Buffer.from([0x50, 0x4b, 0x05, 0x06]))
  if (end < 0 || bytes.readUInt32LE(end) !== endSignature || bytes.length < end + endLength)
    throw invalidInput('Invalid jar file: expected a zip archive')
  const count = bytes.readUInt16LE(end + 10)
  let at = bytes.readUInt32LE(end + 16)
  for (let entry = 0; entry < count; entry += 1) {
    if (bytes.readUInt32LE(at) !== entrySignature) throw invalidInput('Invalid jar file: it is damaged')
    const nameEnd = at + 46 + bytes.readUInt16LE(at + 28)
    const name = bytes.toString('utf8', at + 46, nameEnd)
    if (name.startsWith(folder) && !name.endsWith('/'))
      files.set(name.slice(folder.length), contentOf(bytes, at, name))
    at = nameEnd + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32)
  }
  return files
}

/** Returns the content of an entry, given by its place in the list of entries. */
function contentOf(bytes: Buffer, at: number, name: string): Buffer {
  const method = bytes.readUInt16LE(at + 10)
  const header = bytes.readUInt32LE(at + 42)
  const start = header + 30 + bytes.readUInt16LE(header + 26) + bytes.readUInt16LE(header + 28)
  const content = bytes.subarray(start, start + bytes.readUInt32LE(at + 20))
  if (method === stored) return content
  if (method === deflated) return inflateRawSync(content)
  throw invalidInput(`Invalid jar file: [${name}] uses an unsupported compression method`)
}
