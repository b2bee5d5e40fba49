const identities = new WeakMap<object, number>()
let last = 0

/** Returns a number that identifies an object, for query keys. With a list as the key, 10,000 rules would be serialized. */
export function identityOf(object: object): number {
  const identity = identities.get(object) ?? last + 1
  last = Math.max(last, identity)
  identities.set(object, identity)
  return identity
}
