/**
 * Returns SQL that evaluates an expression once and uses its value several times. Without it, nested expressions would
 * become too large to plan. `name` must be unique where it is used.
 */
export const bound = (name: string, value: string, use: (name: string) => string): string =>
  `list_transform([${value}], lambda svc_${name}: ${use(`svc_${name}`)})[1]`
