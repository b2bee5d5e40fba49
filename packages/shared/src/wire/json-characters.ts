const code = (character: string): number => character.charCodeAt(0)

// Codes of the characters that give a JSON text its structure, in UTF-16 and in UTF-8.
export const quote = code('"')
export const backslash = code('\\')
export const comma = code(',')
export const colon = code(':')
export const openBrace = code('{')
export const closeBrace = code('}')
export const openBracket = code('[')
export const closeBracket = code(']')
