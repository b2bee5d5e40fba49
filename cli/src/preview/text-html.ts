import { escapeHtml } from '@svc/domain/text'
import { escapeInvisible } from '@svc/domain/validation'

/** HTML that shows a text in one line as it is: names of datasources and tiers may contain almost anything. */
export const textHtml = (text: string): string => escapeHtml(escapeInvisible(text))
