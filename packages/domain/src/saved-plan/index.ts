/** The files of plans, as the command line and the console write them. */
export * from './canonical.ts'
export * from './plan-file.ts'
