// The capacity and the load factor of Java's hash sets.
const minBuckets = 16
const maxLoad = 0.75

/**
 * Returns the names of tiers in the order in which a run of Druid 37's coordinator goes through them, which is the order of a
 * hash set in Java. It decides in which tiers a run drops replicas if it may not drop all that are surplus.
 */
export function inDruidOrder(tiers: readonly string[]): string[] {
  let buckets = minBuckets
  while (buckets < Math.floor(tiers.length / maxLoad) + 1) buckets *= 2
  const bucketOf = new Map(tiers.map((tier) => [tier, spread(javaHash(tier)) & (buckets - 1)]))
  return tiers.toSorted((a, b) => bucketOf.get(a)! - bucketOf.get(b)! || (a < b ? -1 : a > b ? 1 : 0))
}

function javaHash(text: string): number {
  let hash = 0
  for (let at = 0; at < text.length; at += 1) hash = (Math.imul(31, hash) + text.charCodeAt(at)) | 0
  return hash
}

const spread = (hash: number): number => hash ^ (hash >>> 16)
