const numbers = new WeakMap<object, number>()
let lastNumber = 0

/** Returns a number that identifies an object, for the key of a query: a list of 10,000 rules would be compared as text. */
export function numberOf(object: object): number {
  const number = numbers.get(object) ?? lastNumber + 1
  lastNumber = Math.max(lastNumber, number)
  numbers.set(object, number)
  return number
}
