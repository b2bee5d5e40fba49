import { invalidInput } from '@svc/domain/failure'

/** The value of an option that is a whole number. Throws invalidInput unless it is from `min` to `max`. */
export function parseInteger(
  option: string,
  text: string,
  { min, max }: { readonly min: number; readonly max: number },
): number {
  const value = Number(text)
  if (/^(0|[1-9]\d*)$/.test(text) && value >= min && value <= max) return value
  throw invalidInput(`Invalid value [${text}] for [${option}]: expected an integer from ${min} to ${max}`)
}

/** Like `parseInteger`, from 1 to `max`. */
export const parsePositiveInteger = (option: string, text: string, max: number): number =>
  parseInteger(option, text, { min: 1, max })
