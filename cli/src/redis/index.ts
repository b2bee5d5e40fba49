/** The Redis of a home: finds or downloads a server program, and defines how to run it. */
export * from './find-redis.ts'
export * from './server.ts'
