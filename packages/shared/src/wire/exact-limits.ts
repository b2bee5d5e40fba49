// Quotes inside JSON strings are escaped, so every match is a field.
const limitAbove = /(?<=(?<!\\)"maxTotalRows": ?)9223372036854776000(?![\d.e])/g

/**
 * Returns JSON with exact 64-bit row limits. The largest 64-bit number means no limit. JavaScript rounds it up to a
 * number that other clients reject, because it does not fit in 64 bits.
 */
export const withExactLimits = (json: string): string => json.replace(limitAbove, '9223372036854775807')
