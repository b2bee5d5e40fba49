/** How commands print: answers as JSON or tables, progress, and notices. */
export { printFigures, printJson, printNotices, printProgress } from './print.ts'
export { printAnswer } from './print-table.ts'
