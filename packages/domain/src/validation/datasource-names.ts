import { hasControlCharacter } from './control-characters.ts'
import { described, type Reader } from './readers.ts'
import { refuse } from './refuse.ts'

/** Max length of a datasource name, in characters. */
const maxLength = 255

const isName = (text: string): boolean =>
  text.length <= maxLength && text.trim() !== '' && !hasControlCharacter(text) && !hasDotSegment(text)

/** Whether a name has a part `.` or `..`, so that it looks like a path to another name. */
const hasDotSegment = (text: string): boolean => /(^|\/)\.\.?(\/|$)/.test(text)

/**
 * Whether a string is a valid datasource name: at most 255 characters, not blank, not `.` or `..`, no slashes or control
 * characters.
 */
export const isDatasourceName = (text: string): boolean => isName(text) && !text.includes('/')

/** What `isDatasourceName` accepts, for error messages. */
export const datasourceNameRule = `a non-blank name of 1 to ${maxLength} characters, other than [.] or [..], without [/] or control characters`

/** Reads a datasource name. */
export const readDatasourceName: Reader<string> = nameReader(isDatasourceName, datasourceNameRule)

/**
 * Reads the name of a datasource whose retention rules are set. Like Druid 37, it accepts slashes, although no data can
 * be ingested under such a name.
 */
export const readRulesName: Reader<string> = nameReader(
  isName,
  `a non-blank datasource name of 1 to ${maxLength} characters without control characters and without the path segments [.] and [..]`,
)

function nameReader(isFit: (text: string) => boolean, allowed: string): Reader<string> {
  return described({ type: 'string', minLength: 1, maxLength }, (json, field) => {
    if (typeof json !== 'string' || !isFit(json)) throw refuse(field, json, allowed)
    return json
  })
}
