/** Returns the sum of an amount of each thing in a list. */
export function sumOf<Thing>(things: Iterable<Thing>, amountOf: (thing: Thing) => number): number {
  let sum = 0
  for (const thing of things) sum += amountOf(thing)
  return sum
}
