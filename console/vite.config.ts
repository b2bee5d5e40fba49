import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

// biome-ignore lint/style/noDefaultExport: Vite reads its configuration from the default export.
export default defineConfig({
  root: import.meta.dirname,
  // Relative, so that the page works in any folder of a web server. The router replaces the addresses in the page.
  base: './',
  plugins: [react()],
  worker: { format: 'es' },
  build: {
    target: 'es2023',
    // The content security policy allows only files of the console itself.
    assetsInlineLimit: 0,
    modulePreload: {
      polyfill: false,
      // The page downloads all screens in advance. A screen whose download failed is downloaded again from another address,
      // because browsers remember failures, which must then be the only one.
      resolveDependencies: (_, files, { hostType }) => (hostType === 'html' ? files : []),
    },
  },
})
