import { hasControlCharacter } from './control-characters.ts'
import { described, type Reader } from './readers.ts'
import { refuse } from './refuse.ts'

/** Max length of the name of a datasource, in characters. */
const maxLength = 255

/** Whether a text may name a datasource: at most 255 characters, not blank, without slashes and control characters. */
export const isDatasourceName = (text: string): boolean =>
  text.length <= maxLength && text.trim() !== '' && !text.includes('/') && !hasControlCharacter(text)

/** What `isDatasourceName` accepts, as messages say it. */
export const datasourceNameRule = `a name of 1 to ${maxLength} characters, not all blank, without [/] and control characters`

/** The name of a datasource. */
export const readDatasourceName: Reader<string> = described(
  { type: 'string', minLength: 1, maxLength },
  (json, field) => {
    if (typeof json !== 'string' || !isDatasourceName(json)) throw refuse(field, json, datasourceNameRule)
    return json
  },
)
