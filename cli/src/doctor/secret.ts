/** A password that can be compared and used, but is never printed by accident. */
export class Secret {
  // Unlike a field that is only private in TypeScript, it is not shown when the object is logged.
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  /** Returns the password, to open a store or to log in. */
  reveal(): string {
    return this.#text
  }

  isEqual(other: Secret): boolean {
    return this.#text === other.#text
  }

  isOneOf(known: ReadonlySet<string>): boolean {
    return known.has(this.#text)
  }

  isEmpty(): boolean {
    return this.#text === ''
  }

  /** Returns whether it starts or ends with a space or line break, which a reader of the file does not see. */
  hasOuterBlank(): boolean {
    return this.#text.trim() !== this.#text
  }

  /** Returns whether it contains U+FFFD, which decoding puts in place of bytes that are not UTF-8. */
  hasInvalidBytes(): boolean {
    return this.#text.includes('\uFFFD')
  }

  toString(): string {
    return '[hidden]'
  }

  toJSON(): string {
    return '[hidden]'
  }
}
