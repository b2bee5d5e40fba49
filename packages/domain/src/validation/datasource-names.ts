import { hasControlCharacter } from './control-characters.ts'
import { described, maxNameLength, type Reader } from './readers.ts'
import { refuse } from './refuse.ts'

const isName = (text: string): boolean =>
  text.length <= maxNameLength && text.trim() !== '' && !hasControlCharacter(text)

// Druid 37 rejects these code units, which the names of nodes in ZooKeeper cannot contain: parts of surrogate pairs,
// private use, and specials.
const rejectedByDruid = /[\ud801-\uf8fe\ufff1-\ufffe]/

const isDatasourceName = (text: string): boolean =>
  isName(text) && !text.startsWith('.') && !text.includes('/') && !rejectedByDruid.test(text)

/** Whether a name has a part `.` or `..`, so that it looks like a path to another name. */
const hasDotSegment = (text: string): boolean => /(^|\/)\.\.?(\/|$)/.test(text)

/**
 * Reads the name of a datasource. Every request and every import reads names with this function, so a datasource that
 * can be created can also be managed. Except for blank and very long names, it accepts what Druid 37 can ingest.
 */
export const readDatasourceName: Reader<string> = nameReader(
  isDatasourceName,
  `a non-blank name of 1 to ${maxNameLength} characters that does not start with [.] and does not contain [/], control characters, or special characters such as emoji`,
)

/**
 * Reads the name of a datasource whose retention rules are set. Like Druid 37, it accepts names under which no data can
 * be ingested, such as names with slashes.
 */
export const readRulesName: Reader<string> = nameReader(
  (text) => isName(text) && !hasDotSegment(text),
  `a non-blank datasource name of 1 to ${maxNameLength} characters that contains neither control characters nor the path segments [.] and [..]`,
)

function nameReader(isFit: (text: string) => boolean, allowed: string): Reader<string> {
  return described({ type: 'string', minLength: 1, maxLength: maxNameLength }, (json, field) => {
    if (typeof json !== 'string' || !isFit(json)) throw refuse(field, json, allowed)
    return json
  })
}
