import { invalidInput } from '@svc/domain/failure'

/** The value of an option that is a whole number. Throws invalidInput unless it is from 1 to `max`. */
export function parsePositiveInteger(option: string, text: string, max: number): number {
  const value = Number(text)
  if (/^[1-9]\d*$/.test(text) && value <= max) return value
  throw invalidInput(`Invalid value [${text}] for [${option}]: expected an integer from 1 to ${max}`)
}
