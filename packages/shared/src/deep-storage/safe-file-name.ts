import { createHash } from 'node:crypto'

// Names of files may have 255 bytes on all common file systems; what uses the name may want to add an ending.
const longestName = 200
const hashDigits = 32

/**
 * A file name for any text, one for each: letters, digits and `._-:` stay, every other byte of its UTF-8 form becomes
 * `%XX`, so does a dot in front (`..` and hidden files). A name that would be too long ends in a hash instead.
 */
export function safeFileName(text: string): string {
  let name = ''
  for (const byte of Buffer.from(text)) {
    const character = String.fromCharCode(byte)
    const plain = /[A-Za-z0-9_:-]/.test(character) || (character === '.' && name !== '')
    name += plain ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }
  if (name.length > 0 && name.length <= longestName) return name
  const hash = createHash('sha256').update(text).digest('hex').slice(0, hashDigits)
  // No shorter name holds a `%` without two digits behind it, so that the two kinds of names never meet.
  return `${name.slice(0, longestName - hashDigits - 2)}%~${hash}`
}
