// The start and end of eternity in Postgres: the minimum and maximum bigint.
const eternityStart = '-9223372036854775808'
const eternityEnd = '9223372036854775807'

/** Returns an instant as a Postgres bigint. */
export const storedTime = (time: number): string =>
  time === -Infinity ? eternityStart : time === Infinity ? eternityEnd : String(time)

/** Returns the instant of a Postgres bigint. */
export const readTime = (text: string): number =>
  text === eternityStart ? -Infinity : text === eternityEnd ? Infinity : Number(text)
