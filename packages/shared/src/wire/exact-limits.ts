// A quote in a text of JSON is escaped: what is found is a field.
const limitAbove = /(?<=(?<!\\)"maxTotalRows": ?)9223372036854776000(?![\d.e])/g

/**
 * JSON with row limits of 64 bits. The greatest such number stands for no limit; JavaScript holds the one above it
 * instead, and reads both alike, while others take that one for no number of 64 bits at all.
 */
export const withExactLimits = (json: string): string => json.replace(limitAbove, '9223372036854775807')
