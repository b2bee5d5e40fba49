import { createHash } from 'node:crypto'

// All common file systems allow 255 bytes; this leaves room for callers to add a suffix.
const maxNameLength = 200
const hashDigits = 32

/**
 * Returns a unique file name for any text. Letters, digits, and `._-:` stay; every other byte of its UTF-8 form becomes
 * `%XX`, as does a leading dot (`..` and hidden files). A name that would be too long ends in a hash instead.
 */
export function safeFileName(text: string): string {
  let name = ''
  for (const byte of Buffer.from(text)) {
    const character = String.fromCharCode(byte)
    const plain = /[A-Za-z0-9_:-]/.test(character) || (character === '.' && name !== '')
    name += plain ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }
  if (name.length > 0 && name.length <= maxNameLength) return name
  const hash = createHash('sha256').update(text).digest('hex').slice(0, hashDigits)
  // In shorter names, two digits follow every `%`, so the two kinds of names never collide.
  return `${name.slice(0, maxNameLength - hashDigits - 2)}%~${hash}`
}
