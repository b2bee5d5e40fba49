/** The Redis of a home: finds or brings a server program and says how it is run. */
export * from './find-redis.ts'
export * from './server.ts'
