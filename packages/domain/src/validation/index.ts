/** How a value from outside is refused: always with the field, the value and what is allowed. */
export * from './refuse.ts'
