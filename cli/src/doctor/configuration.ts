import type { Secret } from './secret.ts'

/** A place in a configuration folder: the file relative to the folder, and the line from 1. */
export interface Place {
  readonly file: string
  readonly line: number | undefined
}

/** A property as the server sees it. */
export interface Property extends Place {
  readonly name: string
  /** Undefined if it is a password, or if `problem` is set. */
  readonly value: string | undefined
  /** Undefined unless it is a password whose value is known. */
  readonly secret: Secret | undefined
  /** Texts from files and from variables for passwords, which any value may refer to. */
  readonly referred: readonly Secret[]
  /** Why the value is not known. */
  readonly problem: ValueProblem | undefined
}

/** Why the value of a property is not known: it refers to something missing, is malformed, or comes from an unknown provider. */
export interface ValueProblem {
  readonly kind: 'missing' | 'malformed' | 'unknownProvider'
  /** What it refers to, or what is wrong with it. Never contains a password. */
  readonly text: string
}

/** One server of the configuration. */
export interface Server {
  /** Its folder, relative to the configuration folder. */
  readonly name: string
  /** The file of its own properties. */
  readonly file: string
  /** All properties: those of the common file, overridden by its own file and by its `jvm.config`. */
  readonly properties: ReadonlyMap<string, Property>
}

/** A property that the same file sets again in a later line. */
export interface Repetition {
  readonly file: string
  readonly name: string
  readonly line: number
  readonly lastLine: number
}

/** A property whose value contains a later line of the file, because the line before that one ends with a backslash. */
export interface Continuation {
  readonly file: string
  readonly name: string
  /** The line that ends with the backslash. */
  readonly line: number
  /** The property that the next line would set; undefined if that line is a comment. */
  readonly swallowed: string | undefined
}

/** A property with a backslash that starts no valid escape. */
export interface InvalidEscape {
  readonly file: string
  readonly name: string
  readonly line: number
  /** What Java does with the backslash. */
  readonly backslash: 'fails' | 'ignores'
}

/** A configuration folder as data. */
export interface Configuration {
  readonly commonFile: string
  readonly servers: readonly Server[]
  readonly repetitions: readonly Repetition[]
  readonly continuations: readonly Continuation[]
  readonly invalidEscapes: readonly InvalidEscape[]
}

/** Returns the text of a property, with outer spaces, as Druid reads it; undefined if it is not set or not known. */
export const textOf = ({ properties }: Server, name: string): string | undefined =>
  properties.get(name)?.value

/** Returns the password of a property; undefined if it is not set or not known. */
export const secretOf = ({ properties }: Server, name: string): Secret | undefined =>
  properties.get(name)?.secret

/** Returns whether a flag is true; `fallback` if it is not set. */
export const flagOf = (server: Server, name: string, fallback: boolean): boolean => {
  const text = textOf(server, name)
  return text === undefined ? fallback : /^(true|-?0*[1-9]\d*)$/i.test(text.trim())
}

/**
 * Returns whether spaces around a value change its meaning. They do in names, types, and paths. Druid ignores them around
 * lists, flags, and numbers, and directories ignore them.
 */
export const hasOuterSpaces = ({ name, value }: Property): boolean =>
  value !== undefined &&
  value !== value.trim() &&
  /^druid\.(auth\.|escalator\.|(client|server)\.https\.|host$)/.test(name) &&
  /(name|user|role|type|path|alias|mapping|protocol|host)$/i.test(name) &&
  !/\.credentialsValidator\.(?!type$)/.test(name)

/** Returns a JSON list of strings; undefined if it is not set or not a list. */
export function listOf(server: Server, name: string): readonly string[] | undefined {
  const text = textOf(server, name)
  return text === undefined ? undefined : parseList(text)
}

/** Returns whether a text is a JSON list of strings. */
export const isListText = (text: string): boolean => parseList(text) !== undefined

function parseList(text: string): readonly string[] | undefined {
  try {
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) && list.every((entry) => typeof entry === 'string') ? list : undefined
  } catch {
    return undefined
  }
}

/** Returns where a property is set; if it is not set, the file in which it belongs. */
export const placeOf = (server: Server, name: string): Place =>
  server.properties.get(name) ?? { file: server.file, line: undefined }
