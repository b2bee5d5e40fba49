import { invalidInput } from '@svc/domain/failure'

/** Reads the value of an option that counts something. Throws invalidInput when it is no whole number from 1 to `most`. */
export function parseWholeNumber(option: string, text: string, most: number): number {
  const value = Number(text)
  if (/^[1-9]\d*$/.test(text) && value <= most) return value
  throw invalidInput(`Option ${option} has value [${text}], allowed are whole numbers from 1 to ${most}`)
}
