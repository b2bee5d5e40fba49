/** What all screens share: formats, colors, and small parts. */
export { CopyButton } from './copy-button.tsx'
export * from './format.ts'
export * from './notice.tsx'
export { ThemeSwitch } from './theme.tsx'
export { tierColors } from './tier-colors.ts'
export { useWidth } from './use-width.ts'
