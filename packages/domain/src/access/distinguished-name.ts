/** The parts of a distinguished name, most specific first, normalized so that equal parts are equal strings. */
export type DistinguishedName = readonly string[]

// RFC 4512 1.4: a short name or a numeric identifier.
const attributeType = /^([a-z][a-z0-9-]*|\d+(\.\d+)*)$/

// Real group names are far shorter.
const maxNameLength = 4096

/** Parses a distinguished name (RFC 4514). Returns undefined if the text is not one. */
export function parseDistinguishedName(text: string): DistinguishedName | undefined {
  if (text.length > maxNameLength) return undefined
  const parts: string[] = []
  for (const part of split(text, ',')) {
    const attributes: string[] = []
    for (const attribute of split(part, '+')) {
      const parsed = parseAttribute(attribute)
      if (parsed === undefined) return undefined
      attributes.push(parsed)
    }
    parts.push(attributes.sort().join('+'))
  }
  return parts
}

function parseAttribute(text: string): string | undefined {
  const equals = text.indexOf('=')
  if (equals < 0) return undefined
  const type = text.slice(0, equals).trim().toLowerCase()
  const value = undoEscapes(text.slice(equals + 1))
  if (!attributeType.test(type) || value === undefined || value === '') return undefined
  // JSON quoting keeps characters of the value from being taken for separators.
  return `${type}=${JSON.stringify(value)}`
}

/** Splits at separators that are not escaped with a backslash. */
function split(text: string, separator: string): string[] {
  const found: string[] = []
  let start = 0
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '\\') at += 1
    else if (text[at] === separator) {
      found.push(text.slice(start, at))
      start = at + 1
    }
  }
  found.push(text.slice(start))
  return found
}

/** Normalizes a value for comparison: unescapes, lowercases, trims, and collapses spaces. */
function undoEscapes(text: string): string | undefined {
  const bytes: number[] = []
  let value = ''
  // Escaped bytes are UTF-8, so several of them can form one character.
  const flush = (): boolean => {
    if (bytes.length === 0) return true
    try {
      value += decodeURIComponent(
        bytes
          .splice(0)
          .map((byte) => `%${byte.toString(16).padStart(2, '0')}`)
          .join(''),
      )
      return true
    } catch {
      return false
    }
  }
  const plain = text.replace(/^ +/, '').replace(/(?<!\\) +$/, '')
  for (let at = 0; at < plain.length; at++) {
    if (plain[at] !== '\\') {
      if (!flush()) return undefined
      value += plain[at]
      continue
    }
    const hex = /^[0-9a-fA-F]{2}/.exec(plain.slice(at + 1, at + 3))
    if (hex) {
      bytes.push(Number.parseInt(hex[0], 16))
      at += 2
    } else {
      if (!flush() || plain[at + 1] === undefined) return undefined
      value += plain[++at]
    }
  }
  if (!flush()) return undefined
  return value.toLowerCase().replace(/ +/g, ' ')
}
