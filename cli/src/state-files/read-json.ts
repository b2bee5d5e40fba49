import { type Failure, invalidInput } from '@svc/domain/failure'
import { showValue } from '@svc/domain/validation'

/** A JSON text with the places of its values. */
export interface JsonFile {
  readonly json: unknown
  /** Returns line and column, such as `3:5`, of the value at a path such as `changes[0].kind`, or of what contains it. */
  position(field: string): string
}

const maxLevels = 64

/**
 * Reads a JSON text, like `JSON.parse`. `name` is the file in messages. Throws invalidInput, with line and column, if it is not
 * JSON, or has a field twice: people who read the file may see only the first value, and programs use the last one.
 */
export function readJson(text: string, name: string): JsonFile {
  const reading = new Reading(text, name)
  const json = reading.readAll()
  const position = (field: string): string => {
    let known = field
    while (known !== '' && !reading.places.has(known)) known = known.replace(/(\[\d*\]?|\.?[^.[]*)$/, '')
    return reading.positionAt(reading.places.get(known) ?? 0)
  }
  return { json, position }
}

interface Token {
  readonly text: string
  readonly at: number
}

/** A delimiter, a string, or anything else, which is a number, true, false, or null. */
const tokenPattern = /[\t\n\r ]*([{}[\],:]|"(?:[^"\\]+|\\.)*"|[^\s{}[\],:"]+|.)/sy

class Reading {
  /** Where each value starts, by its path. */
  readonly places = new Map<string, number>()
  private readonly text: string
  private readonly name: string
  private end = 0

  constructor(text: string, name: string) {
    this.text = text
    this.name = name
  }

  readAll(): unknown {
    const json = this.readValue(this.next(), '', 0)
    const rest = /\S/.exec(this.text.slice(this.end))
    if (rest) throw this.unexpected({ text: rest[0], at: this.end + rest.index }, 'the end of the file')
    return json
  }

  positionAt(offset: number): string {
    const before = this.text.slice(0, offset).split('\n')
    return `${before.length}:${before.at(-1)!.length + 1}`
  }

  private readValue(token: Token, field: string, level: number): unknown {
    this.places.set(field, token.at)
    if (level > maxLevels)
      throw this.refuseAt(token.at, `Values are nested too deeply: expected at most [${maxLevels}] levels`)
    if (token.text === '{') return this.readObject(field, level)
    if (token.text === '[') return this.readList(field, level)
    return this.parse(token, 'a value')
  }

  private parse(token: Token, expected: string): unknown {
    try {
      return JSON.parse(token.text)
    } catch {
      throw this.unexpected(token, expected)
    }
  }

  private readObject(field: string, level: number): unknown {
    const entries = new Map<string, unknown>()
    let token = this.next()
    while (token.text !== '}' || entries.size > 0) {
      const name = this.parse(token, 'the name of a field')
      if (typeof name !== 'string') throw this.unexpected(token, 'the name of a field')
      if (entries.has(name))
        throw this.refuseAt(token.at, `Duplicate [${showValue(name)}]: expected only one`)
      const colon = this.next()
      if (colon.text !== ':') throw this.unexpected(colon, '[:]')
      entries.set(name, this.readValue(this.next(), field === '' ? name : `${field}.${name}`, level + 1))
      if (this.isLast('}')) break
      token = this.next()
    }
    return Object.fromEntries(entries)
  }

  private readList(field: string, level: number): unknown {
    const items: unknown[] = []
    let token = this.next()
    while (token.text !== ']' || items.length > 0) {
      items.push(this.readValue(token, `${field}[${items.length}]`, level + 1))
      if (this.isLast(']')) break
      token = this.next()
    }
    return items
  }

  private isLast(closing: string): boolean {
    const token = this.next()
    if (token.text !== ',' && token.text !== closing) throw this.unexpected(token, `[,] or [${closing}]`)
    return token.text === closing
  }

  private next(): Token {
    tokenPattern.lastIndex = this.end
    const [all, text] = tokenPattern.exec(this.text) ?? []
    if (all === undefined || text === undefined)
      throw this.refuseAt(this.text.length, 'Invalid JSON: the file ends too early')
    this.end += all.length
    return { text, at: this.end - text.length }
  }

  private unexpected({ text, at }: Token, expected: string): Failure {
    return this.refuseAt(at, `Invalid JSON: unexpected [${showValue(text)}], expected ${expected}`)
  }

  private refuseAt(offset: number, message: string): Failure {
    return invalidInput(`${this.name}:${this.positionAt(offset)}: ${message}`)
  }
}
