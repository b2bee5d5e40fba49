/** SQL on the command line: sends queries, shows answers as tables, and has an interactive prompt. */
export { askSql, type SqlAnswer, type SqlQuestion } from './ask-sql.ts'
export { runPrompt } from './prompt.ts'
export { type ShownAs, showAnswer } from './show-answer.ts'
