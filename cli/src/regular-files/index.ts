/** Reads files whose paths users give: a named pipe or a device would block a command forever. */
export * from './regular-file.ts'
