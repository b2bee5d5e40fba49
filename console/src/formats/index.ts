/** How values and names are shown as text. */
export * from './format.ts'
export { isTypedName, visible } from './visible.ts'
