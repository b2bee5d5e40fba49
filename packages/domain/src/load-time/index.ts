/** How long servers take to load segments: rates fitted to measurements, and estimates for many loads. */
export * from './answered-load-time.ts'
export * from './estimate-load-time.ts'
export * from './load-rate.ts'
