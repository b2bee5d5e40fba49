/** What all screens share: formats, colors, and small parts. */
export * from './format.ts'
export * from './notice.tsx'
export { ThemeSwitch } from './theme.tsx'
export { tierColors } from './tier-colors.ts'
export { useWidth } from './use-width.ts'
