/** The files of plans, as the command line and the console write them. */
export * from './plan-file.ts'
