import type { JsonLimits } from '../wire/index.ts'

/** Maximum bytes of a body, unless its route sets another limit. */
export const maxBodyBytes = 1024 * 1024

/** Limits of the JSON in a body, unless its route sets others. */
export const defaultJsonLimits: JsonLimits = { maxValues: 200_000, maxNames: 20_000, maxDepth: 100 }

/** Maximum bytes of a body from a caller who may lack the permission for the route. */
export const maxUntrustedBodyBytes = 64 * 1024
