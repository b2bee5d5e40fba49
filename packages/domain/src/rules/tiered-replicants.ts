import {
  hasControlCharacter,
  isJsonObject,
  type JsonObject,
  maxNameLength,
  orNull,
  readInteger,
  refuse,
  refuseCount,
  schemaOf,
} from '../validation/index.ts'

/** Tier of servers without a configured tier, and of load rules without tiers. */
const defaultTier = '_default_tier'

/** Number of replicas by tier. */
export type TieredReplicants = Readonly<Record<string, number>>

// More tiers than fit into a 1 MiB request body, so every list that was ever stored can be read.
const maxTiers = 150_000
const readReplicants = readInteger(0, 2_147_483_647)

/** Two replicas on the default tier, used if tieredReplicants is absent or null. */
const defaultReplicants: TieredReplicants = { [defaultTier]: 2 }

/** JSON schema of the number of replicas by tier. */
export const tieredReplicantsSchema = (): JsonObject =>
  orNull({
    type: 'object',
    description: 'Number of replicas by tier',
    additionalProperties: schemaOf(readReplicants),
  })

/** Reads the number of replicas by tier. Without tiers, returns the default tier's, or none if that is not used. */
export function readTieredReplicants(
  json: unknown,
  field: string,
  useDefaultTier: boolean,
): TieredReplicants {
  if (json === undefined || json === null) return useDefaultTier ? defaultReplicants : {}
  if (!isJsonObject(json)) throw refuse(field, json, 'an object that maps tier names to numbers of replicas')
  const entries = Object.entries(json)
  if (entries.length > maxTiers) throw refuseCount('tiers', entries.length, field, `at most ${maxTiers}`)
  for (const [tier, count] of entries) {
    // Assigning this name would replace the prototype of an object instead of adding a tier.
    if (
      tier === '__proto__' ||
      tier.trim() === '' ||
      tier.length > maxNameLength ||
      hasControlCharacter(tier)
    ) {
      throw refuse(field, tier, `a tier name of 1 to ${maxNameLength} characters without control characters`)
    }
    readReplicants(count, `${field}.${tier}`)
  }
  return { ...json } as TieredReplicants
}
