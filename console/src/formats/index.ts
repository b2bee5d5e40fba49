/** How values and names are shown as text. */
export { byteCharacters } from './byte-characters.ts'
export * from './format.ts'
export { isTypedName, visible } from './visible.ts'
