/** Explains why requests are allowed or denied, and why servers refused requests and handshakes: `./svc auth`. */
export { type Explanation, explainAccess } from './explain-access.ts'
export { explanationText } from './explanation-text.ts'
export * from './refusal-text.ts'
export * from './refusals.ts'
