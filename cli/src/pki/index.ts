/** The development certificates of a home: one authority and a key store for each instance. */
export * from './ensure-certificates.ts'
