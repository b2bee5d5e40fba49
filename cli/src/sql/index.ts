/** SQL from the command line: asking the cluster, showing answers as tables, and a prompt. */
export { askSql, type SqlAnswer, type SqlQuestion } from './ask-sql.ts'
export { runPrompt } from './prompt.ts'
export { type ShownAs, showAnswer } from './show-answer.ts'
