/**
 * SQL that uses the value of an expression several times and finds it once: written out, expressions made of expressions
 * would grow beyond what can be planned. `name` is one that stands for no other value where it is used.
 */
export const bound = (name: string, value: string, use: (name: string) => string): string =>
  `list_transform([${value}], lambda svc_${name}: ${use(`svc_${name}`)})[1]`
