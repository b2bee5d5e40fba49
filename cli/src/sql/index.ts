/** SQL on the command line: sends queries, shows answers as tables, and has an interactive prompt. */

export { runPrompt } from './prompt.ts'
export { querySql } from './query-sql.ts'
export { showAnswer } from './show-answer.ts'
