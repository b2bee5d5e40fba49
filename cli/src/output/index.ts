/** How commands print: answers as JSON or tables, progress, and notices. */
export { isOutputRead, noteClosedOutput } from './closed-output.ts'
export { printFigures, printJson, printMessage, printNotices, printProgress, printText } from './print.ts'
export { printAnswer } from './print-table.ts'
export { writeFileOf } from './write-file.ts'
