import { bidirectionalMark } from '@svc/domain/validation'

const marks = new RegExp(`\\p{Cc}|${bidirectionalMark.source}`, 'gu')
const shownMark = '\u2423'

/**
 * Returns a text from the cluster as it is shown: with a visible sign for each character that would be invisible or would
 * turn the text around.
 */
export const visible = (text: string): string => text.replace(marks, shownMark)

const typeable = (text: string): string =>
  visible(text).replaceAll(shownMark, ' ').replaceAll(/\s+/g, ' ').trim()

/** Whether a person has typed a name. Characters that cannot be seen or typed may be left out, or typed as they are shown. */
export const isTypedName = (typed: string, name: string): boolean =>
  typed !== '' && typeable(typed) === typeable(name)
