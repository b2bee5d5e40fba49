// The ends of eternity as the store has them: the least and greatest bigint.
const eternityStart = '-9223372036854775808'
const eternityEnd = '9223372036854775807'

/** An instant as a bigint of the store. */
export const storedTime = (time: number): string =>
  time === -Infinity ? eternityStart : time === Infinity ? eternityEnd : String(time)

/** The instant of a bigint of the store. */
export const readTime = (text: string): number =>
  text === eternityStart ? -Infinity : text === eternityEnd ? Infinity : Number(text)
