import { hasControlCharacter } from './control-characters.ts'
import { described, type Reader } from './readers.ts'
import { refuse } from './refuse.ts'

/** Max length of the name of a datasource, in characters. */
const maxLength = 255

const isName = (text: string): boolean =>
  text.length <= maxLength && text.trim() !== '' && !hasControlCharacter(text)

/** Whether a text may name a datasource: at most 255 characters, not blank, without slashes and control characters. */
export const isDatasourceName = (text: string): boolean => isName(text) && !text.includes('/')

/** What `isDatasourceName` accepts, as messages say it. */
export const datasourceNameRule = `a name of 1 to ${maxLength} characters, not all blank, without [/] and control characters`

/** The name of a datasource. */
export const readDatasourceName: Reader<string> = nameReader(isDatasourceName, datasourceNameRule)

const hasDotSegment = (text: string): boolean => text.includes('/') && /(^|\/)\.\.?(\/|$)/.test(text)

/**
 * The name that retention rules are set for. Druid 37 takes slashes here, although no data can be ingested under such a
 * name; a name that reads like a path to another one is not accepted.
 */
export const readRulesName: Reader<string> = nameReader(
  (text) => isName(text) && !hasDotSegment(text),
  `a name of 1 to ${maxLength} characters, not all blank, without control characters and without [.] or [..] next to [/]`,
)

function nameReader(isFit: (text: string) => boolean, allowed: string): Reader<string> {
  return described({ type: 'string', minLength: 1, maxLength }, (json, field) => {
    if (typeof json !== 'string' || !isFit(json)) throw refuse(field, json, allowed)
    return json
  })
}
