/** SQL on the command line: sends queries, shows answers as tables, and has an interactive prompt. */

export { runPrompt } from './prompt.ts'
export { querySql, type SqlAnswer, type SqlQuestion } from './query-sql.ts'
export { type ShownAs, showAnswer } from './show-answer.ts'
