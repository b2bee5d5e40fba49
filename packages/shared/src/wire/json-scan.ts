import { randomInt } from 'node:crypto'
import { invalidInput, tooLarge } from '@svc/domain/failure'
import {
  backslash,
  closeBrace,
  closeBracket,
  colon,
  comma,
  openBrace,
  openBracket,
  quote,
} from './json-characters.ts'

/** Limits of a JSON document. */
export interface JsonLimits {
  /** Max total number of values: objects, lists, strings, numbers, true, false, and null. */
  readonly maxValues: number
  /** Maximum number of different field names. */
  readonly maxNames: number
  /** Max nesting depth of objects and lists. */
  readonly maxDepth: number
}

/** Max length of a field name as written, in bytes. */
export const maxNameBytes = 4096
/** Max length of a number as written, in bytes. */
export const maxNumberBytes = 1000
/** Max length of the space between two values, in bytes. The parser cannot pause within it. */
export const maxSpaceBytes = 2 ** 20

// Two names in the same slot count as one, so the table is much larger than any limit.
const slotBits = 20
const hashPrime = 0x01000193

const isSpace = (byte: number): boolean => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d)
const isDelimiter = (byte: number): boolean =>
  byte === comma ||
  byte === colon ||
  byte === openBrace ||
  byte === closeBrace ||
  byte === openBracket ||
  byte === closeBracket

/**
 * Counts the contents of a JSON document while its bytes arrive, so that an expensive document is rejected before it is
 * parsed. Needs constant memory, and time linear in the number of bytes. Does not check whether the document is valid
 * JSON: the counts of an invalid document may be wrong, but scanning it never costs more.
 */
export class JsonScan {
  private readonly limits: JsonLimits
  private readonly slots: Uint8Array
  // Secret, so that an attacker cannot choose names that share a slot.
  private readonly seed = randomInt(2 ** 32)
  private depth = 0
  private values = 1
  private names = 0
  private isInString = false
  private isEscaped = false
  private isAfterOpening = false
  private stringBytes = 0
  private stringHash = 0
  private tokenBytes = 0
  private spaceBytes = 0

  /** @param sizeBytes Length of the document, if known: short ones need little memory. */
  constructor(limits: JsonLimits, sizeBytes = Number.POSITIVE_INFINITY) {
    this.limits = limits
    this.slots = new Uint8Array(sizeBytes <= 2 ** 16 ? 2 ** 13 : 2 ** (slotBits - 3))
  }

  /**
   * Scans the next bytes. Throws invalidInput or tooLarge, with the limit in the message, as soon as one is exceeded.
   */
  take(chunk: Uint8Array): void {
    for (let index = 0; index < chunk.length; index++) {
      if (this.isInString) index = this.skipString(chunk, index)
      else this.takeToken(chunk[index] as number)
    }
  }

  /** Skips to the end of a string or of the bytes. Returns the index of the last skipped byte. */
  private skipString(chunk: Uint8Array, from: number): number {
    let { isEscaped, stringBytes, stringHash } = this
    let index = from
    for (; index < chunk.length; index++) {
      const byte = chunk[index] as number
      if (isEscaped) isEscaped = false
      else if (byte === quote) {
        this.isInString = false
        break
      } else isEscaped = byte === backslash
      if (stringBytes++ < maxNameBytes) stringHash = Math.imul(stringHash ^ byte, hashPrime)
    }
    this.isEscaped = isEscaped
    this.stringBytes = stringBytes
    this.stringHash = stringHash
    return index
  }

  private takeToken(byte: number): void {
    if (isSpace(byte)) {
      this.tokenBytes = 0
      if (++this.spaceBytes > maxSpaceBytes)
        throw tooLarge(`The body has more than [${maxSpaceBytes}] spaces or line breaks in a row`)
      return
    }
    this.spaceBytes = 0
    if (this.isAfterOpening) {
      this.isAfterOpening = false
      if (byte !== closeBrace && byte !== closeBracket) this.countValue()
    }
    if (byte === quote) {
      this.isInString = true
      this.stringBytes = 0
      this.stringHash = this.seed
    } else if (isDelimiter(byte)) {
      this.tokenBytes = 0
      this.takeDelimiter(byte)
    } else if (++this.tokenBytes > maxNumberBytes)
      throw invalidInput(`Invalid body: a number has more than [${maxNumberBytes}] digits`)
  }

  private takeDelimiter(byte: number): void {
    if (byte === comma) this.countValue()
    else if (byte === colon) this.countName()
    else if (byte === openBrace || byte === openBracket) {
      this.isAfterOpening = true
      if (++this.depth > this.limits.maxDepth) {
        throw invalidInput(
          `The body is nested too deeply: expected at most [${this.limits.maxDepth}] levels of objects and lists`,
        )
      }
    } else this.depth--
  }

  private countValue(): void {
    if (++this.values > this.limits.maxValues)
      throw tooLarge(`The body has too many values: expected at most [${this.limits.maxValues}]`)
  }

  private countName(): void {
    if (this.stringBytes > maxNameBytes)
      throw invalidInput(`Invalid body: a field name is longer than [${maxNameBytes}] bytes`)
    const { slots } = this
    // The high bits of a product depend on all bits of its factors.
    const slot = Math.imul(this.stringHash ^ (this.stringHash >>> 15), 0x9e3779b1) >>> 0
    const place = Math.floor(slot / (2 ** 32 / (slots.length * 8)))
    const mask = 1 << (place & 7)
    if (((slots[place >>> 3] as number) & mask) !== 0) return
    slots[place >>> 3] = (slots[place >>> 3] as number) | mask
    if (++this.names > this.limits.maxNames)
      throw tooLarge(
        `The body has too many different field names: expected at most [${this.limits.maxNames}]`,
      )
  }
}
